"""A store that has a whole sweep; and no driver outlives the test that started it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from giantstep.sweep import run_sweep

from .helpers import STARTED, SWEEP


@pytest.fixture(autouse=True)
def drivers_end() -> Iterator[None]:
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "s.sqlite"
    run_sweep(SWEEP, path, workers=1)
    return path
