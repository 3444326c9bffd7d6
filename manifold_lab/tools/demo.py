"""The demonstration: two rolled-up surfaces, every method, one page that needs no network.

The page carries plotly's JavaScript and the numbers; its content security policy forbids it to
load anything. Only the two originals use WebGL, of which a browser grants a page a few contexts.
"""

import contextlib
import html
import json
import string
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from manifold_lab._entries import format_table
from manifold_lab.checks import Int, OneOf, parameter_problem
from manifold_lab.errors import MissingExtraError, ParameterError
from manifold_lab.registry import available, get
from manifold_lab.tools.datasets import s_curve, swiss_roll
from manifold_lab.tools.quality import trustworthiness
from manifold_lab.tools.versions import versions

__all__ = ["run"]

SETS = {"S-curve": s_curve, "Swiss roll": swiss_roll}
HEADS = ("data set", "method", "seconds", "trustworthiness", "note")


@dataclass
class Row:
    """One method on one data set: its embedding and score, or why there is none."""

    data: str
    method: str
    origin: str
    Z: np.ndarray | None = None
    seconds: float = float("nan")
    score: float = float("nan")
    note: str = ""

    def cells(self):
        if self.Z is None:
            return [self.data, self.method, "", "", self.note]
        return [self.data, self.method, f"{self.seconds:.4f}", f"{self.score:.4f}", self.note]


def run(output="manifold_lab_demo.html", n_samples=1000, seed=0):
    """Embed an S-curve and a Swiss roll with every method; print a table and write a page.

    Parameters
    ----------
    output : path-like
        The HTML file to write.
    n_samples : int
        Samples per data set, at least 20.
    seed : int or None
        Of the data and of the methods that draw random numbers; None is 0.

    Returns
    -------
    int
        0, or 1 if a built-in method failed. A plugin that fails is only a row of the table.

    Raises
    ------
    MissingExtraError
        plotly is not installed.
    ParameterError
        A parameter is outside its bounds, or the folder of ``output`` does not exist.
    """
    plotly_js, colours = _plotly()
    target = _check(output, n_samples, seed)
    seed = 0 if seed is None else int(seed)
    samples = {name: make(n_samples=n_samples, random_state=seed) for name, make in SETS.items()}
    rows = [
        _embed(record, name, X, T, seed)
        for name, (X, T) in samples.items()
        for record in available()
    ]
    _print_table([row.cells() for row in rows])
    page = _page(samples, rows, seed, plotly_js, colours)
    target.write_text(page, encoding="utf-8")
    print(f"\nPictures: {target.resolve()}")
    return int(any(row.Z is None and row.origin == "builtin" for row in rows))


def _plotly():
    """Return plotly's JavaScript and its colour scale."""
    try:
        from plotly.colors import sequential
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError(
            'The demo page needs plotly. Run `pip install "manifold-lab[report]"` and try again.'
        ) from error
    return get_plotlyjs(), sequential.Viridis


def _check(output, n_samples, seed):
    problems = [
        parameter_problem("n_samples", n_samples, (Int(20),), "demo"),
        parameter_problem("seed", seed, (OneOf((None,)), Int(0)), "demo"),
    ]
    target = Path(output)
    if not target.parent.is_dir() or target.is_dir():
        problems.append(
            f"The demo cannot write {str(target)!r}: "
            + ("that is a folder." if target.is_dir() else "its folder does not exist.")
            + " Name a file in a folder that exists."
        )
    found = [problem for problem in problems if problem]
    if found:
        raise ParameterError(" ".join(found))
    return target


# ------------------------------------------------------------------ computing


def _embed(record, data, X, T, seed):
    """Run one method on one data set; whatever it raises becomes the note of its row."""
    plain = record.status not in ("shadowed", "ambiguous")
    name = record.name if plain else record.qualified
    row = Row(data, name, record.origin)
    k = min(10, (len(X) - 1) // 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            reducer, y = _prepared(get(name), T, seed)
            start = time.perf_counter()
            Z = reducer.fit_transform(X, y)
            row.seconds = time.perf_counter() - start
            Z = np.asarray(Z, dtype=np.float64)
            row.score = trustworthiness(X, Z, k=k)
            row.Z = Z
        except Exception as error:  # a faulty method must not cost the others their picture
            row.note = f"failed: {type(error).__name__}: {error}"
    if row.Z is not None:
        row.note = "; ".join(dict.fromkeys(str(warning.message) for warning in caught))
    return row


def _prepared(cls, T, seed):
    """Return the reducer, warmed up on other data so that imports are not timed, and labels."""
    wanted = {"n_components": 2, "random_state": seed}
    known = cls().get_params(deep=False)
    params = {name: value for name, value in wanted.items() if name in known}
    cuts = np.quantile(T[:, 0], np.arange(1, 8) / 8)
    y = np.digitize(T[:, 0], cuts) if cls.supervised else None
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = np.random.default_rng(seed).normal(size=(64, 3))
        cls(**params).fit_transform(other, np.arange(64) % 8 if cls.supervised else None)
    return cls(**params), y


# ------------------------------------------------------------------ showing


def _print_table(rows):
    if not (sys.stdout.isatty() and _rich_table(rows)):
        print(format_table(HEADS, rows))


def _rich_table(rows):
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(*HEADS)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
    return True


def _page(samples, rows, seed, plotly_js, colours):
    n = len(next(iter(samples.values()))[0])
    footer = " · ".join(f"{name} {version}" for name, version in versions().items())
    plots = {"colours": colours, "size": float(np.clip(140 / np.sqrt(n), 2, 7)), "sets": []}
    sections = []
    for data, (X, T) in samples.items():
        own = [row for row in rows if row.data == data]
        plots["sets"].append(
            {
                "original": _columns(X),
                "colour": _columns(T)[0],
                "embeddings": [None if row.Z is None else _columns(_plane(row.Z)) for row in own],
            }
        )
        sections.append(_section(len(sections), data, T[:, 0].max(), own))
    return string.Template(PAGE).substitute(
        n=n,
        table="\n".join(map(_table_row, rows)),
        sections="\n".join(sections),
        gradient=", ".join(colours),
        footer=html.escape(f"seed {seed} · {footer}"),
        plotly=plotly_js,
        plots=json.dumps(plots, allow_nan=False).replace("<", "\\u003c"),
        script=SCRIPT,
    )


def _columns(A):
    """Return the columns of A as lists, with the digits a picture can show."""
    return [[float(f"{value:.5g}") for value in column] for column in A.T]


def _plane(Z):
    return np.column_stack([Z, np.zeros(len(Z))])[:, :2]


def _table_row(row):
    cells = [html.escape(cell) for cell in row.cells()]
    bar = ""
    if row.Z is not None:  # one half is chance, so the bar starts there
        share = max(0.0, 2 * row.score - 1)
        bar = f'<span class="bar"><i style="width:{share:.0%}"></i></span>'
    return (
        f'<tr><td>{cells[0]}</td><th scope="row">{cells[1]}</th><td class="num">{cells[2]}</td>'
        f'<td class="num">{bar}{cells[3]}</td><td class="note">{cells[4]}</td></tr>'
    )


def _section(number, data, length, rows):
    cards = []
    for i, row in enumerate(rows):
        method, note = html.escape(row.method), html.escape(row.note)
        if row.Z is None:
            body = f'<p class="failed">{note}</p>'
        else:
            label = f"{html.escape(data)} embedded by {method}"
            body = f'<div class="plot" id="p{number}-{i}" role="img" aria-label="{label}"></div>'
        score = "" if row.Z is None else f"trustworthiness {row.score:.3f}"
        cards.append(
            f'<figure class="card"><figcaption><b>{method}</b><span>{score}</span></figcaption>'
            f"{body}</figure>"
        )
    return string.Template(SECTION).substitute(
        number=number,
        data=html.escape(data),
        length=f"{length:.1f}",
        cards="\n".join(cards),
    )


SECTION = """\
<section><h2>$data</h2>
<div class="pictures">
<div class="original"><figure class="card">
<figcaption><b>original</b><span>3-D, drag to turn</span></figcaption>
<div class="plot" id="p$number" role="img" aria-label="$data in three dimensions"></div>
<div class="scale"><span>0</span><i></i><span>$length</span></div>
<p class="hint">colour: arc length along the surface</p>
</figure></div>
<div class="embeddings">
$cards
</div></div></section>"""

PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:">
<title>manifold_lab demo</title>
<style>
:root { --back: #f6f7f9; --card: #fff; --ink: #1c2128; --soft: #5c6672; --line: #dde1e7; --accent: #2a788e; --bad: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171c; --card: #1d2127; --ink: #e6e9ee; --soft: #9aa4b1; --line: #333a44; --accent: #35b7a0; --bad: #ff8a80 }
  .plot, .scale i { filter: brightness(1.3) }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1240px; padding: 1.5rem clamp(.75rem, 3vw, 2rem); background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
h1 { margin: 0; font-size: 1.7rem } h2 { margin: 2.2rem 0 .7rem; font-size: 1.25rem }
p { margin: .4rem 0; max-width: 46rem } .hint, footer { color: var(--soft); font-size: .85rem }
.card, .wide { background: var(--card); border: 1px solid var(--line); border-radius: 10px }
.wide { overflow-x: auto; margin-top: 1.2rem }
table { border-collapse: collapse; width: 100%; font-size: .93rem }
th, td { padding: .45rem .9rem; text-align: left; border-top: 1px solid var(--line); white-space: nowrap }
thead th { border: 0; color: var(--soft); font-weight: 500 } .num { text-align: right; font-variant-numeric: tabular-nums }
td.note { white-space: normal; overflow-wrap: anywhere; width: 40%; min-width: 13rem; color: var(--soft) }
.bar { display: inline-block; width: 5rem; height: .5rem; margin-right: .7rem; border-radius: 3px; background: var(--line); overflow: hidden }
.bar i { display: block; height: 100%; background: var(--accent) }
.pictures { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1rem; align-items: start }
.original { position: sticky; top: 1rem }
.embeddings { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 290px), 1fr)); gap: 1rem }
figure { margin: 0; padding: .7rem .9rem .9rem; min-width: 0 }
figcaption { display: flex; justify-content: space-between; gap: 1rem } figcaption span { color: var(--soft); font-size: .88rem }
.plot { width: 100%; height: 300px } .original .plot { height: 360px }
.scale { display: flex; align-items: center; gap: .6rem; font-size: .85rem; color: var(--soft) }
.scale i { flex: 1; height: .6rem; border-radius: 3px; background: linear-gradient(to right, $gradient) }
.failed { color: var(--bad); overflow-wrap: anywhere } footer { margin-top: 2.5rem; overflow-wrap: anywhere }
@media (max-width: 760px) { .pictures { grid-template-columns: minmax(0, 1fr) } .original { position: static } .original .plot { height: 300px } .bar { display: none } }
</style></head><body>
<header><h1>manifold_lab demo</h1>
<p>$n samples of each of two rolled-up surfaces, embedded in the plane by every method installed.
Colour is the true position along the surface: the better the embedding, the more evenly the
colours follow each other, none on top of another.</p></header>
<main>
<div class="wide"><table><thead><tr><th>data set</th><th>method</th><th class="num">seconds</th>
<th class="num">trustworthiness</th><th>note</th></tr></thead><tbody>
$table
</tbody></table></div>
<noscript><p class="failed">The pictures need JavaScript.</p></noscript>
$sections
</main>
<footer>$footer</footer>
<script>$plotly</script>
<script type="application/json" id="data">$plots</script>
<script>$script</script>
</body></html>
"""

SCRIPT = """\
const shown = JSON.parse(document.getElementById("data").textContent);
const scale = shown.colours.map((colour, i) => [i / (shown.colours.length - 1), colour]);
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dot = (values, size) => ({ color: values, colorscale: scale, size: size, line: { width: 0 } });
const options = { responsive: true, displaylogo: false, displayModeBar: false };

function draw() {
  const common = { margin: { l: 0, r: 0, t: 6, b: 0 }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("--soft") }, showlegend: false };
  const axis = { title: { text: "" }, gridcolor: colour("--line"), zerolinecolor: colour("--line"),
    showticklabels: false, ticks: "" };
  const solid = { ...axis, showbackground: false, showspikes: false };
  shown.sets.forEach((set, s) => {
    const [x, y, z] = set.original;
    Plotly.react("p" + s, [{ type: "scatter3d", mode: "markers", x: x, y: y, z: z,
      marker: dot(set.colour, 0.7 * shown.size), hoverinfo: "skip" }],
      { ...common, scene: { xaxis: solid, yaxis: solid, zaxis: solid, aspectmode: "data",
        camera: { eye: { x: 0.95, y: -2.15, z: 0.8 } } } }, options);
    set.embeddings.forEach((Z, i) => Z && Plotly.react("p" + s + "-" + i, [{ type: "scatter",
      mode: "markers", x: Z[0], y: Z[1], marker: dot(set.colour, shown.size), hoverinfo: "skip" }],
      { ...common, dragmode: "pan", xaxis: axis, yaxis: { ...axis, scaleanchor: "x" } }, options));
  });
}
draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
"""
