"""`giantstep ...` in this process: what it prints and its exit status. How commands start is tested on some that do."""

import io
import os
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from giantstep.cli import main
from giantstep.errors import GiantstepWarning

COMMAND = [str(Path(sys.executable).parent / "giantstep")]
SETTINGS = {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}
CTRL_C = """
import signal, sys
from giantstep.simulation import schedule
attempt, before = schedule.attempt, iter(range(int(sys.argv[1])))
def attempted(task):
    if next(before, None) is None:
        signal.raise_signal(signal.SIGINT)
    return attempt(task)
schedule.attempt = attempted
"""
"""The beginning of a program in which somebody presses Ctrl-C after so many trials, its argument."""


def giantstep(
    arguments: str | list[str], cwd: Path | str = ".", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Output, complaints and exit status of a command."""
    words = arguments.split() if isinstance(arguments, str) else arguments
    out, err, status = io.StringIO(), io.StringIO(), None
    set_up = patch.dict(os.environ, SETTINGS | environment)
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd), set_up, warnings.catch_warnings():
        warnings.simplefilter("default", GiantstepWarning)
        try:
            main(words)
        except SystemExit as ended:
            status = ended.code
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def started(words: list[str], largest_file: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same of a process that starts for it; no file that it writes may be larger, if that is said."""

    def limit() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    options = {"preexec_fn": limit if largest_file else None, "env": os.environ | SETTINGS | environment}
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=120, **options)
