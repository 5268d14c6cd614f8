"""One pool of threads at work at a time.

The wheels of numpy and of scipy each bring a BLAS with threads of its own. After a product these spin for a while,
waiting for the next; where the other library's product comes next, both pools compete for the same cores and each
runs at half its rate. Large products of a trial therefore all go through scipy, and what is left to numpy, small,
runs in the calling thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_inside = 0  # trials under way in this process: the first one in silences numpy's pool, the last one out restores it
_silenced: Any = None


@contextmanager
def numpy_unthreaded() -> Iterator[None]:
    """Within the block numpy's BLAS has one thread, if scipy has a BLAS of its own."""
    global _inside, _silenced
    with _lock:
        if _inside == 0:
            _silenced = _silence_numpy()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _silenced is not None:
                _silenced.restore_original_limits()
                _silenced = None


def _silence_numpy() -> Any:
    pools = thread_pools().select(user_api="blas")
    paths = [library.filepath for library in pools.lib_controllers]
    of_numpy = [path for path in paths if "numpy.libs" in path]
    if len(paths) < 2 or not of_numpy:
        return None
    return pools.select(filepath=of_numpy).limit(limits=1)


@cache
def thread_pools() -> Any:
    """The thread pools of this process, found once: looking for them takes longer than a small job."""
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
