"""How many threads linear algebra uses.

The wheels of numpy and of scipy each bring a BLAS with threads of its own. After a product these spin for a while,
waiting for the next; where the other library's product comes next, both pools compete for the same cores and each
runs at half its rate. Large products of a trial therefore all go through scipy, and what is left to numpy, small,
runs in the calling thread.

Threads that wait for each other after every small product lose more than they gain, above all where other programs use
the cores too. Two threads against one on two busy cores, trials with alpha = 0.5 and 2: 8.3 s against 0.7 s at
d = 400, 5.3 s against 0.8 s at d = 800, 1.5 s against 1.6 s at d = 1600. Below d = 1000 scipy has one
thread, too, unless the user says otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from .system import cores

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
"""What linear algebra reads when it is loaded: the first is for all libraries, and each heeds its own before it."""

_LARGE = 1000  # rows or columns of matrices from which on several threads are faster

_lock = Lock()
_inside = 0  # trials under way in this process: the first one sets the limits, the last one lifts them
_limits: Any = None


@contextmanager
def limited_threads(size: int) -> Iterator[None]:
    """Within the block numpy's BLAS has one thread, and scipy's as many as matrices of this size need."""
    global _inside, _limits
    with _lock:
        if _inside == 0:
            _limits = _limit(size)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limits is not None:
                _limits.restore_original_limits()
                _limits = None


def _limit(size: int) -> Any:
    pools = thread_pools().select(user_api="blas")
    paths = [library.filepath for library in pools.lib_controllers]
    small = size < _LARGE and not _chosen_by_user()
    single = [path for path in paths if small or (len(paths) > 1 and "numpy.libs" in path)]
    return pools.select(filepath=single).limit(limits=1) if single else None


def useful_threads(size: int) -> int:
    """Threads with which matrices of this size are fastest: OMP_NUM_THREADS where it is set, which always counts."""
    return allowed_threads() if size >= _LARGE or _chosen_by_user() else 1


def _chosen_by_user() -> bool:
    return any(os.environ.get(name) for name in VARIABLES)


def allowed_threads() -> int:
    """OMP_NUM_THREADS if it is set, else the process's cores."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(limit), cores()) if limit.isdigit() and int(limit) > 0 else cores()


@cache
def thread_pools() -> Any:
    """The thread pools of this process, found once: looking for them takes longer than a small job."""
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
