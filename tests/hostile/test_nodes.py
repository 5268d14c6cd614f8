"""Pipes, devices, sockets and folders in the place of a file: refused at once, and still there afterwards."""

from __future__ import annotations

import os
import re
import socket
import stat
from functools import partial
from pathlib import Path

import pytest
import xarray as xr

import giantstep as gs
from giantstep.errors import ParameterError

from ..surface.command import giantstep

pytestmark = pytest.mark.posix

CURVE = "predict --eta 1 --alpha0 1 --alpha 1,2 --lam 0.1"
WRITERS = (  # a command, and the file that it writes
    (f"{CURVE} --out node.nc", "node.nc"),
    (f"{CURVE} --out node.csv", "node.csv"),
    (f"{CURVE} --out node.json", "node.json"),
    (f"{CURVE} --plot node.png", "node.png"),
    ("sweep run sweep.toml --store node.sqlite", "node.sqlite"),
    ("sweep run sweep.toml --store other.sqlite", "other.sqlite.lock"),
    ("sweep run sweep.toml --store other.sqlite", "other.sqlite-journal"),
    ("sweep status sweep.toml --store node.sqlite", "node.sqlite"),
    ("sweep export sweep.toml node.csv", "node.csv"),
    ("sweep plot sweep.toml node.png", "node.png"),
    ("figure width --out .", "width.png"),
    ("reproduce --out .", "index.html"),
    ("demo --out .", "learning_curves.png"),
)
SWEEP = """
target = "sin"
alpha = [0.5, 1]
lam = 0.1
theory = {}
[model]
activation = "tanh"
eta = 1
alpha0 = 2
"""


def device(path: Path) -> None:
    """What /dev/null is: its size is 0, and who replaces that breaks the machine."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
    except PermissionError:
        pytest.skip("only root makes devices, and not in every container")


def link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.parent / "pipe")
    path.symlink_to("pipe")


def listener(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def device_behind_a_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


NODES = (os.mkfifo, os.mkdir, device, device_behind_a_link, link_to_a_pipe, listener)


def identity(path: Path) -> tuple[int, ...]:
    found = os.lstat(path)
    return found.st_ino, found.st_mode, found.st_rdev


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(("command", "name"), WRITERS)
def test_no_command_replaces_or_waits_for_what_is_not_a_plain_file(command, name, node, tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    node(tmp_path / name)
    before, around = identity(tmp_path / name), sorted(tmp_path.iterdir())
    done = giantstep(command, tmp_path)
    assert done.returncode == 2
    assert re.search(f"{re.escape(name)}'? is not a plain file", done.stderr)
    assert identity(tmp_path / name) == before
    assert sorted(tmp_path.iterdir()) == around


@pytest.mark.parametrize("ending", ["nc", "json"])
@pytest.mark.parametrize("node", NODES)
def test_neither_save_nor_load_replaces_or_waits_for_what_is_not_a_plain_file(node, ending, tmp_path):
    path = tmp_path / f"node.{ending}"
    node(path)
    before = identity(path)
    for act in (gs.load, partial(gs.save, xr.Dataset({"a": 1.0}))):
        with pytest.raises(ParameterError, match=f"path = .*{path.name}' is not a plain file"):
            act(path)
    assert identity(path) == before


def test_a_store_takes_the_place_of_an_empty_file_behind_a_link(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "empty").touch()
    (tmp_path / "link.sqlite").symlink_to("empty")
    assert giantstep("sweep run sweep.toml --store link.sqlite --workers 1", tmp_path).returncode == 0
    assert (tmp_path / "link.sqlite").is_symlink()
    assert "2 of 2" in giantstep("sweep status sweep.toml --store link.sqlite", tmp_path).stdout
