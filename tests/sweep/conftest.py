"""No driver outlives the test that started it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .helpers import STARTED


@pytest.fixture(autouse=True)
def drivers_end() -> Iterator[None]:
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.communicate()
