"""Ctrl-C reaches what the tests start, also when they run in the background of a shell that ignores it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INSIDE = """
import signal, subprocess, sys

def test_ctrl_c_is_heeded_here_and_in_what_is_started():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ask = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", ask], text=True) == "True\\n"
"""


@pytest.mark.posix
def test_a_shell_that_ignores_ctrl_c_does_not_keep_it_from_the_tests(tmp_path):
    tests = Path(__file__).parents[1]
    (tmp_path / "conftest.py").write_text((tests / "conftest.py").read_text())
    (tmp_path / "test_inside.py").write_text(INSIDE)
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$0" -m pytest -q -p no:cacheprovider', sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
    )
    assert done.returncode == 0, done.stdout
