"""The differences between operating systems, so that no other module has to ask for them.

Linux, macOS and Windows all compute the same. Where a system lacks something, this module leaves it out if it is a
courtesy (nice processes, closed links), and does it in another way if it is needed (processes, what they inherit).
"""

from __future__ import annotations

import os
import platform
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)
"""Flag of `os.open` that refuses a link laid in a file's place. Windows has none; its links need rights."""


def cores() -> int:
    """Processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory() -> int | None:
    """Bytes that programs may still take; None where the system does not say it in a file."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None


def keep_freed_memory() -> None:
    """Let arrays that come and go by the thousand reuse memory, rather than have it given back and cleared each time.

    Linux keeps up to twice what the largest array freed so far has taken, and only then gives back. Blocks of work
    take more than 32 MB between them, and it learns from no array above 32 MB: one of 31, into which nothing is ever
    written, will do. Elsewhere nothing comes of it.
    """
    import numpy as np

    np.empty(31 << 17)


def processor() -> str:
    """The model of the processor, or at least its kind."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
            return next(names, platform.machine())
    except OSError:
        return platform.processor() or platform.machine()


def step_back(niceness: int) -> None:
    """Let the processes of others go first, where a process can say so of itself."""
    if sys.platform != "win32":
        os.nice(niceness)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes and threads that start in this block do not hear Ctrl-C, where a thread can decide that.

    A Ctrl-C in the terminal is for us alone, who end the others quietly.
    """
    if sys.platform == "win32":  # there they end by it
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ports_can_be_taken_over() -> bool:
    """Whether a second server may listen on the port of one that runs, as Windows allows where addresses are reused."""
    return sys.platform == "win32"


def process_context(module: str | None) -> Any:
    """The context of `multiprocessing` whose processes are each a new Python, which takes a second or two to start.

    With a `module`, those of Linux are forked in milliseconds from a small server that has imported it. macOS's own
    libraries do not survive a fork, and Windows has none.
    """
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    if sys.platform != "win32":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # now: within `deaf_children` it would make the thread hear again
    if module is not None and sys.platform == "linux":
        from multiprocessing import forkserver

        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([module])
        with deaf_children():
            forkserver.ensure_running()
    return context


def ending(status: int) -> str:
    """How a process ended, in words, from a process's exit code."""
    if status >= 0:
        return f"exit status {status}"
    if -status == getattr(signal, "SIGKILL", None):
        return "killed, perhaps for want of memory"
    return signal.strsignal(-status) or f"signal {-status}"
