"""Array libraries behind one interface: the array API (`xp`), plus the linear algebra that it lacks or leaves slow.

These are symmetric updates in place, Cholesky solves, random numbers drawn on the device.
`Backend` does all of it in the array API alone; its subclasses for numpy and for torch do it faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ParameterError, warn
from ..runtime.system import free_memory

DTYPES = ("float64", "float32")
_DOUBTFUL = 1e-4  # relative accuracy below which a minimum-norm solution comes with a warning
MANY_LAMS = 16  # from which on the eigenvalues, which serve all, are found faster than a factorisation for each


class Backend:
    """Linear algebra of a trial. Of symmetric matrices the lower triangle alone counts."""

    block_rows = 1024  # samples whose features are in memory at once; a multiple of draw.CHUNK_ROWS
    panel_columns = 128  # columns of a p×p matrix worked on at once: what stays in cache

    def __init__(self, xp: Any, name: str, dtype: str = "float64", device: str | None = "cpu"):
        self.xp, self.name, self.device = xp, name, device
        self.dtype = getattr(xp, dtype)
        self.eps = float(xp.finfo(self.dtype).eps)
        self.itemsize = np.dtype(dtype).itemsize

    def asarray(self, values: np.ndarray) -> Any:
        """Values on the device, in the backend's precision."""
        return self.xp.asarray(values, dtype=self.dtype, device=self.device)

    def numpy(self, array: Any) -> np.ndarray:
        """A float64 numpy copy, for the small arrays that statistics are made of."""
        return np.asarray(array, dtype=np.float64)

    def zeros(self, *shape: int) -> Any:
        """An array of zeros on the device."""
        return self.xp.zeros(shape, dtype=self.dtype, device=self.device)

    def apply(self, function: Callable[[Any], Any], values: Any) -> Any:
        """An elementwise function of an array, in its place: a user's own may return truth values, or one number."""
        values[...] = function(values)
        return values

    def matmul(self, a: Any, b: Any) -> Any:
        return a @ b

    def add_product(self, total: Any, a: Any, b: Any) -> Any:
        """total + a·b, in the memory of `total`."""
        total += a @ b
        return total

    def add_gram(self, total: Any, rows: Any) -> Any:
        """total + rowsᵀ·rows, in the memory of `total`."""
        return self.add_product(total, rows.T, rows)

    def solve_shifted(self, matrix: Any, right: Any, lams: Sequence[float]) -> Any:
        """(matrix + lam)⁻¹·right for every lam, as columns; the minimum-norm solution where lam = 0.

        `matrix` is symmetric and positive semi-definite. A lam costs one Cholesky factorisation; many share the
        eigenvalues (with 40 lams simulations at d = 600 and 1200 take 1.45 and 1.6 times as long without). lam = 0
        needs them: those below size·eps times the largest count as zero. A Gram matrix squares the condition number,
        so directions of the features weaker than √(size·eps) times the strongest are not fitted.
        """
        if min(lams) == 0 or len(lams) >= MANY_LAMS:
            return self._by_eigenvalues(matrix, right, lams)
        return self.xp.stack([self._by_cholesky(matrix, right, lam) for lam in lams], axis=1)

    def _by_cholesky(self, matrix: Any, right: Any, lam: float) -> Any:
        """(matrix + lam)⁻¹·right for lam > 0."""
        return self.xp.linalg.solve(matrix + lam * self.asarray(np.eye(matrix.shape[0])), right)

    def _eigh(self, matrix: Any) -> tuple[Any, Any]:
        return self.xp.linalg.eigh(matrix)

    def _by_eigenvalues(self, matrix: Any, right: Any, lams: Sequence[float]) -> Any:
        values, vectors = self._eigh(matrix)
        spectrum, cutoff = self.numpy(values), matrix.shape[0] * self.eps * max(float(values[-1]), 0.0)
        if min(lams) == 0:
            # rounding moves a minimum-norm solution by about eps times the condition number of the Gram matrix
            fitted = spectrum[spectrum > cutoff]
            if len(fitted) and (error := self.eps * fitted[-1] / fitted[0]) > _DOUBTFUL:
                warn(
                    f"lam = 0 with nearly dependent features: the minimum-norm readout is accurate to about {error:.0e}"
                    " of its value; use a small positive lam, or an alpha further from beta"
                )
        shifted = np.maximum(spectrum, 0.0)[:, None] + np.asarray(lams)
        shifted[(spectrum <= cutoff)[:, None] & (np.asarray(lams) == 0)] = np.inf
        return vectors @ (self.asarray(1 / shifted) * (vectors.T @ right)[:, None])

    def free_bytes(self) -> int | None:
        """Memory that a trial may still take on this device; None where it cannot be known."""
        return free_memory()


class NumpyBackend(Backend):
    """BLAS and LAPACK through scipy: half the work on symmetric matrices, no copies of large ones.

    Its Gram matrices hold the lower triangle only and are stored by columns, as LAPACK wants them. Large
    products go through scipy too, not through `@`: see `runtime.threads`.
    """

    def __init__(self, dtype: str = "float64"):
        super().__init__(np, "numpy", dtype)

    def zeros(self, *shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=self.dtype, order="F")

    def _blas(self, name: str) -> Any:
        from scipy.linalg import get_blas_funcs

        return get_blas_funcs(name, dtype=self.dtype)

    def matmul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.ndim == 1:
            return self.matmul(b.T, a) if b.ndim > 1 else a @ b
        if b.ndim == 1:
            a, flip = _by_columns(a)
            return self._blas("gemv")(1.0, a, b, trans=flip)
        return self.add_product(np.zeros((len(a), b.shape[1]), dtype=self.dtype), a, b)

    def add_product(self, total: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not total.flags.f_contiguous:  # a row-major total is its transpose, by columns
            return self.add_product(total.T, b.T, a.T).T
        (a, flip_a), (b, flip_b) = _by_columns(a), _by_columns(b)
        return self._blas("gemm")(1.0, a, b, beta=1.0, c=total, trans_a=flip_a, trans_b=flip_b, overwrite_c=True)

    def add_gram(self, total: np.ndarray, rows: np.ndarray) -> np.ndarray:
        stored, flipped = _by_columns(rows)
        return self._blas("syrk")(1.0, stored, beta=1.0, c=total, lower=1, trans=not flipped, overwrite_c=True)

    def _by_cholesky(self, matrix: np.ndarray, right: np.ndarray, lam: float) -> np.ndarray:
        from scipy.linalg import get_lapack_funcs

        factorise, solve = get_lapack_funcs(("potrf", "potrs"), dtype=self.dtype)
        factor, info = factorise(_shifted(matrix, lam), lower=1, clean=0, overwrite_a=True)
        _check_definite(lam, info)
        return solve(factor, right, lower=1)[0]

    def _eigh(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.linalg import eigh

        return eigh(_shifted(matrix), lower=True, driver="evd", overwrite_a=True, check_finite=False)


class TorchBackend(Backend):
    """torch, on the CPU or on a GPU."""

    def __init__(self, dtype: str = "float64", device: str = "cpu"):
        import array_api_compat.torch as xp
        import torch

        super().__init__(xp, "torch", dtype, device)
        self.torch = torch
        self.draws_natively = device != "cpu"  # random numbers come from the device's own generator
        if device != "cpu":
            self.block_rows, self.panel_columns = 8192, 2048

    def numpy(self, array: Any) -> np.ndarray:
        return array.to("cpu", self.torch.float64).numpy()

    def add_product(self, total: Any, a: Any, b: Any) -> Any:
        return total.addmm_(a, b)

    def _by_cholesky(self, matrix: Any, right: Any, lam: float) -> Any:
        shifted = matrix.clone()
        shifted.diagonal().add_(lam)
        factor, info = self.torch.linalg.cholesky_ex(shifted)
        _check_definite(lam, int(info))
        return self.torch.cholesky_solve(right[:, None], factor)[:, 0]

    def draw(self, words: list[tuple[int, ...]], shape: tuple[int, int], normal: bool) -> Any:
        generator = self.torch.Generator(self.device)
        draw = self.torch.randn if normal else self.torch.rand
        chunks = []
        for word in words:
            generator.manual_seed(int(np.random.SeedSequence(word).generate_state(1, np.uint64)[0] >> np.uint64(1)))
            chunks.append(draw(shape, generator=generator, dtype=self.dtype, device=self.device))
        return self.torch.cat(chunks)

    def free_bytes(self) -> int | None:
        if self.device == "cpu":
            return super().free_bytes()
        return int(self.torch.cuda.mem_get_info(self.device)[0])


def _check_definite(lam: float, pivot: int) -> None:
    if pivot:
        raise np.linalg.LinAlgError(
            f"Gram matrix + {lam:g} is not positive definite to rounding (use a larger lam or dtype = 'float64'): "
            f"pivot {pivot}"
        )


def _shifted(matrix: np.ndarray, lam: float = 0.0) -> np.ndarray:
    """A copy of matrix + lam, by columns, which LAPACK may overwrite."""
    copy = matrix.copy(order="F")
    np.einsum("ii->i", copy)[:] += lam  # a view of the diagonal
    return copy


def _by_columns(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """The matrix or its transpose, whichever BLAS takes without a copy, and whether it is the transpose."""
    return (matrix, False) if matrix.flags.f_contiguous else (matrix.T, True)


def make_backend(name: str | None = None, device: str = "cpu", dtype: str = "float64") -> Backend:
    """The backend of that name; by default numpy on the CPU and torch elsewhere."""
    name = name or ("numpy" if device == "cpu" else "torch")
    if name == "numpy" and device != "cpu":
        raise ParameterError(f"backend = 'numpy' runs on device 'cpu', not on {device!r}; leave backend out")
    if name == "numpy":
        return NumpyBackend(dtype)
    try:
        import torch
    except ImportError:
        raise ParameterError(
            f"device = {device!r} with backend 'torch' needs torch, which is not installed; "
            "install giantstep[gpu], or use device = 'cpu' and backend = 'numpy'"
        ) from None
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ParameterError(f"device = {device!r} was asked for, but torch sees no CUDA GPU; use device = 'cpu'")
    return TorchBackend(dtype, device)
