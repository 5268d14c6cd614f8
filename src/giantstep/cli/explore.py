"""The command `giantstep explore`: the interactive page."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .options import whole


def explore(
    *,
    host: Annotated[
        str, Parameter(help="address to listen on; 0.0.0.0 lets other machines in")
    ] = "127.0.0.1",
    port: Annotated[int | None, whole("port, 0 for a free one (default 8642)")] = None,
    browser: Annotated[bool, Parameter(help="open it in a browser", show_default=False)] = True,
) -> int:
    """An interactive page: learning curves, what is learned, spectra.

    Everything on it is computed on this machine. The link that it prints ends
    in a token: anyone with the link can use the server. The charts are drawn
    by Plotly (pip install 'giantstep[explore]'). Ctrl-C ends it.

      giantstep explore --no-browser --port 8700
    """
    from ..explorer import explore as verb

    verb(host, port, browser)
    return 0
