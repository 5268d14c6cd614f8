"""The files that the browser gets: the page's own, and Plotly's script out of the installed package `plotly`."""

from __future__ import annotations

from importlib import metadata
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

MISSING = (
    "The charts are drawn by Plotly, which is not installed here. Install it with: pip install 'giantstep[explore]'"
    " (or pip install plotly), and start giantstep explore again."
)
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def pages() -> dict[str, tuple[str, bytes]]:
    """Every file of the page by its address, with its type."""
    contents = {
        f"/{entry.name}": (TYPES[entry.name.rpartition(".")[2]], entry.read_bytes())
        for entry in (files("giantstep.explorer") / "page").iterdir()
        if entry.name.rpartition(".")[2] in TYPES
    }
    return contents | {"/": contents["/index.html"]}


def plotly_script() -> Path | None:
    """The script in the installed package; None where there is none. The package itself is not imported."""
    package = find_spec("plotly")
    places = package.submodule_search_locations if package is not None else None
    paths = [Path(place) / "package_data" / "plotly.min.js" for place in places or ()]
    return next((path for path in paths if path.is_file()), None)


def plotly_version() -> str | None:
    """The installed package's version; None without its script."""
    return metadata.version("plotly") if plotly_script() is not None else None
