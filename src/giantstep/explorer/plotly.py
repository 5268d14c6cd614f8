"""Where the charts come from: Plotly's own script, out of the installed package `plotly`. Nothing is vendored."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

MISSING = (
    "The charts are drawn by Plotly, which is not installed here. Install it with: pip install 'giantstep[explore]'"
    " (or pip install plotly), and start giantstep explore again."
)


def script() -> Path | None:
    """The script in the installed package; None where there is none. The package itself is not imported."""
    found = find_spec("plotly")
    places = found.submodule_search_locations if found is not None else None
    paths = [Path(place) / "package_data" / "plotly.min.js" for place in places or ()]
    return next((path for path in paths if path.is_file()), None)


def version() -> str | None:
    """The installed package's version; None without its script."""
    return metadata.version("plotly") if script() is not None else None
