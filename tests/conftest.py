"""Settings that all tests share."""

import signal
import threading

from hypothesis import settings

# a busy machine is no reason to fail, nor is the day: the same examples every time
settings.register_profile("giantstep", deadline=None, derandomize=True)
settings.load_profile("giantstep")

# A shell may start what runs in the background with Ctrl-C ignored, and every process that is started inherits
# that: the tests that press Ctrl-C would wait for ever. This process heeds it, and so do those that it starts.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
