"""`giantstep ...` as a process of its own, whose imports are done once for all of them.

A command takes a few milliseconds, its imports most of a second. One process has them all done and asks nothing else
of the package; it forks for every command: what runs has its own memory, folder, environment, streams and exit
status, as any process. How commands start, and what they import, is tested on commands that do start.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = [str(Path(sys.executable).parent / "giantstep")]
FORKS = """
import contextlib, gc, io, json, os, resource, signal, sys, traceback
import giantstep.cli
giantstep.cli._do_without_dask_arrays()  # as a command does, before anything else
import matplotlib.figure, matplotlib.backends.backend_agg, scipy.special, giantstep.plotting
for verb in ("predict", "simulate --trials 1"):  # they import the rest
    with contextlib.redirect_stdout(io.StringIO()):
        giantstep.cli.make_app()(f"{verb} --eta 1 --alpha0 1 --alpha 1 --lam 1 --d 9", result_action="return_value")
gc.freeze()

for line in sys.stdin:
    words, folder, largest_file, streams = json.loads(line)
    child = os.fork()
    if not child:
        for number, (name, flags) in enumerate([(os.devnull, os.O_RDONLY), *((s, os.O_WRONLY) for s in streams)]):
            os.dup2(os.open(name, flags), number)
        if largest_file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        os.chdir(folder)
        signal.alarm(120)
        sys.argv = ["giantstep", *words]
        status = 1
        try:
            giantstep.cli.main()
        except SystemExit as ended:
            status = ended.code or 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(status)  # taking the interpreter to pieces takes longer than most commands
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@functools.cache
def _server() -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    server = subprocess.Popen([sys.executable, "-c", FORKS], env=_environment(), **pipes)
    atexit.register(server.communicate)  # it ends when it has no more to read
    return server


def giantstep(
    arguments: str | list[str], cwd: Path | str = ".", largest_file: int = 0
) -> subprocess.CompletedProcess[str]:
    """Output, complaints and exit status of a command; no file that it writes may be larger, if that is said."""
    words = arguments.split() if isinstance(arguments, str) else arguments
    if sys.platform != "linux":  # elsewhere a process that is forked is not sure to work
        return _started(words, cwd, largest_file)
    server = _server()
    assert server.stdin
    assert server.stdout
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        request = [words, os.path.abspath(cwd), largest_file, [out.name, err.name]]
        print(json.dumps(request), file=server.stdin, flush=True)
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess(words, status, out.read(), err.read())


def _started(words: list[str], cwd: Path | str, largest_file: int) -> subprocess.CompletedProcess[str]:
    def little_room() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    return subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        text=True,
        env=_environment(),
        cwd=cwd,
        preexec_fn=little_room if largest_file else None,
        timeout=120,
    )


def _environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}
