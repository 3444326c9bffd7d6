"""What a user waits for before any work: the import, and the list of methods."""

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.common import by_size

import manifold_lab


class Import:
    """Statements timed once in a process of their own."""

    def timeraw_import(self):
        return "import manifold_lab"

    def timeraw_list(self):
        return "import manifold_lab; manifold_lab.available()"

    def timeraw_first_method(self):
        return "import manifold_lab; manifold_lab.get('pca')"


class Available:
    """The list of methods, with many packages that offer plugins on the path."""

    param_names = ("packages",)
    params = (by_size([0, 3], [0, 100]),)

    def setup(self, packages):
        self.folder = tempfile.mkdtemp()
        for i in range(packages):
            info = Path(self.folder, f"fake_{i}-1.0.dist-info")
            info.mkdir()
            Path(info, "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: fake-{i}\nVersion: 1.0\n"
            )
            Path(info, "entry_points.txt").write_text(
                f"[manifold_lab.reducers]\nfake_{i} = nowhere_{i}:Fake\n"
            )
        sys.path.insert(0, self.folder)
        manifold_lab.refresh()
        manifold_lab.available()

    def teardown(self, packages):
        sys.path.remove(self.folder)
        shutil.rmtree(self.folder)
        manifold_lab.refresh()

    def time_first_listing(self, packages):
        manifold_lab.refresh()
        return manifold_lab.available()

    def time_next_listing(self, packages):
        return manifold_lab.available()
