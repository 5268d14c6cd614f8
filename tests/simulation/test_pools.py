"""One pool of BLAS threads at a time, and the user's setting back afterwards."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (loads its BLAS)
from threadpoolctl import threadpool_info, threadpool_limits

from giantstep.runtime.threads import limited_threads
from giantstep.simulation.backend import NumpyBackend


def threads() -> dict[str, int]:
    return {
        owner: pool["num_threads"]
        for pool in threadpool_info()
        for owner in ("numpy", "scipy")
        if f"{owner}.libs" in pool["filepath"]
    }


@pytest.mark.skipif(len(threads()) < 2, reason="numpy and scipy share one BLAS here")
def test_numpy_keeps_still_until_the_last_of_overlapping_trials_is_over():
    with threadpool_limits(2):
        assert threads() == {"numpy": 2, "scipy": 2}
        first, second = limited_threads(2000), limited_threads(2000)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {"numpy": 1, "scipy": 2}
        second.__exit__(None, None, None)
        assert threads() == {"numpy": 2, "scipy": 2}


@pytest.mark.skipif(len(threads()) < 2, reason="numpy and scipy share one BLAS here")
def test_the_setting_comes_back_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(ZeroDivisionError), limited_threads(2000):
            raise ZeroDivisionError
        assert threads()["numpy"] == 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["CC", "CF", "FC", "FF"])
def test_products_do_not_depend_on_the_layout(dtype, order):
    rng, backend = np.random.default_rng(0), NumpyBackend(dtype)
    a, b = (
        np.asarray(rng.standard_normal(shape), dtype=dtype, order=o)
        for shape, o in zip(((5, 7), (7, 3)), order, strict=True)
    )
    for left, right in ((a, b), (a, b[:, 0]), (a[0], b), (a[0], b[:, 0]), (a[:, 1:4], b[1:4, ::2])):
        product = backend.matmul(left, right)
        np.testing.assert_allclose(product, left @ right, rtol=20 * backend.eps, atol=20 * backend.eps)
        assert product.dtype == dtype
        assert product.ndim < 2 or product.flags.c_contiguous
