"""Settings of the documentation: ``sphinx-build -W -b html docs docs/_build/html``."""

import re
import sys
from pathlib import Path

from docutils import nodes

sys.path.insert(0, str(Path(__file__).parent))

import generate

import manifold_lab

project = "manifold_lab"
author = "The manifold_lab developers"
copyright = "2026, The manifold_lab developers"
version = release = manifold_lab.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "example_plugin", "**/README.md", "**/.*"]
# the functions among these settings cannot be cached; every other warning is an error
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it
numpydoc_show_class_members = False  # autodoc lists them

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 60,
}

html_theme = "pydata_sphinx_theme"
html_title = f"manifold_lab {version}"
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_show_sourcelink = False
html_sidebars = {page.stem: [] for page in Path(__file__).parent.glob("*.*")}  # no section to show

_GENERATE = re.compile(r"<!-- generate: ([\w ./]+) -->")
_KEY = re.compile(r"(?<![\[`\w])\[([a-z]+\d{4}[a-z]?)\](?![\[(:])")


def cite(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Make ``{cite}`key``` the same node as ``[key]_`` in a docstring; Sphinx links it."""
    return [nodes.citation_reference(rawtext, text, refname=text)], []


def expand(app, docname, source):
    """Put the generated parts in, and make a plain ``[chan1983]`` of Markdown a link."""
    if str(app.env.doc2path(docname)).endswith(".md"):
        text = _GENERATE.sub(lambda match: generate.expand(match[1]), source[0])
        source[0] = _KEY.sub(r"{cite}`\1`", text)


def plain(app, what, name, obj, options, lines):
    """Let shapes such as (n, n_components_) and sizes such as |x| be plain text in docstrings."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            line = re.sub(r"(?<![\w`*.])(\w+)_(?=[,)])", r"\1\\_", line)
            lines[i] = re.sub(r"\|(\w+)\|", r"\|\1\|", line)


def setup(app):
    app.add_role("cite", cite)
    app.connect("source-read", expand)
    app.connect("autodoc-process-docstring", plain, priority=900)  # after numpydoc
