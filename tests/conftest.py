"""Settings that all tests share, and which of them an operating system cannot run."""

import signal
import sys
import threading

import pytest
from hypothesis import settings

# a busy machine is no reason to fail, nor is the day: the same examples every time
settings.register_profile("giantstep", deadline=None, derandomize=True)
settings.load_profile("giantstep")

# A shell may start what runs in the background with Ctrl-C ignored, and every process that is started inherits
# that: the tests that press Ctrl-C would wait for ever. This process heeds it, and so do those that it starts.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("posix") and sys.platform == "win32":
        pytest.skip("Windows has no such signals, permissions or links")
    if item.get_closest_marker("linux") and sys.platform != "linux":
        pytest.skip("only Linux has this")
