"""Opening the page without showing its token to everybody on this machine."""

from __future__ import annotations

import html
import os
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def opened(link: str, wanted: bool = True) -> Iterator[None]:
    """Have a browser open the link by way of a file that nobody else can read.

    The command line of a browser can be read by all users of a machine; the file, which leads on to the link and is
    removed at the end, cannot.
    """
    if not wanted:
        yield
        return
    handle, name = tempfile.mkstemp(prefix="giantstep-", suffix=".html")  # readable by its owner alone
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            address = html.escape(link, quote=True)
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">')
            file.write(f'<a href="{address}">giantstep explorer</a>\n')
        threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
        yield
    finally:
        path.unlink(missing_ok=True)
