"""The backend of torch, on the CPU or a GPU."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..errors import ParameterError
from .backend import INDEFINITE, Answer, Backend

_PANELS = 8  # of a lower triangle, whose products then are 9/16 of those of the whole,
# each of so many rows or a multiple: Gram matrices in float64 are a third faster for it on an H200
_NARROWEST, _WIDEST = 256, 1024


class TorchBackend(Backend):
    """torch, on the CPU or on a GPU. It has no symmetric update: one is made of products, panel by panel."""

    many_lams = 48
    """One eigendecomposition costs as much as 48 (float32) to 52 (float64) Cholesky solves on an H200 at n = 10,000;
    `benchmarks/simulation.py --device cuda` prints both times."""

    def __init__(self, dtype: str = "float64", device: str = "cpu"):
        import array_api_compat.torch as xp
        import torch

        super().__init__(xp, "torch", dtype, device)
        self.torch = torch
        self.draws_natively = device != "cpu"
        if device != "cpu":
            self.block_rows, self.panel_columns = 8192, 2048

    def aside(self, work: Callable[[], Answer]) -> Callable[[], Answer] | None:
        if self.device == "cpu":
            return None
        thread = ThreadPoolExecutor(1)
        answer = thread.submit(work)
        thread.shutdown(wait=False)
        return answer.result

    def asarray(self, values: np.ndarray) -> Any:
        return self.torch.as_tensor(values, dtype=self.dtype, device=self.device)

    def indices(self, values: np.ndarray) -> Any:
        return self.torch.as_tensor(values, device=self.device)

    def numpy(self, array: Any) -> np.ndarray:
        return array.to("cpu", self.torch.float64).numpy()

    def zeros(self, *shape: int) -> Any:
        return self.torch.zeros(*shape, dtype=self.dtype, device=self.device)

    def add_product(self, total: Any, a: Any, b: Any) -> Any:
        return total.addmm_(a, b)

    def add_gram(self, total: Any, rows: Any) -> Any:
        step = min(_WIDEST, _NARROWEST * -(-rows.shape[1] // (_PANELS * _NARROWEST)))
        for start in range(0, rows.shape[1], step):
            stop = start + step
            total[start:stop, :stop].addmm_(rows[:, start:stop].T, rows[:, :stop])
        return total

    def symmetric_product(self, matrix: Any, columns: Any) -> Any:
        return matrix.tril() @ columns + matrix.tril(-1).T @ columns

    def _by_cholesky(self, matrix: Any, right: Any, lam: float) -> Any:
        shifted = matrix.clone()
        shifted.diagonal().add_(lam)
        factor, info = self.torch.linalg.cholesky_ex(shifted)
        if int(info):
            raise np.linalg.LinAlgError(f"Gram matrix + {lam:g} is {INDEFINITE} {int(info)}")
        return self.torch.cholesky_solve(right[:, None], factor)[:, 0]

    def draw(self, words: list[tuple[int, ...]], shape: tuple[int, int], normal: bool) -> Any:
        generator = self.torch.Generator(self.device)
        draw = self.torch.randn if normal else self.torch.rand
        chunks = []
        for word in words:
            generator.manual_seed(
                int(np.random.SeedSequence(word).generate_state(1, np.uint64)[0] >> np.uint64(1))
            )
            chunks.append(draw(shape, generator=generator, dtype=self.dtype, device=self.device))
        return self.torch.cat(chunks)

    def free_bytes(self) -> int | None:
        if self.device == "cpu":
            return super().free_bytes()
        return int(self.torch.cuda.mem_get_info(self.device)[0])


def torch_backend(dtype: str, device: str) -> TorchBackend:
    """torch on that device, if both are there."""
    try:
        import torch
    except ImportError:
        raise ParameterError(
            f"device = {device!r} with backend 'torch' needs torch, which is not installed; "
            "install giantstep[gpu], or use device = 'cpu' and backend = 'numpy'"
        ) from None
    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise ParameterError(
            f"device = {device!r} is not a torch device; use 'cpu', 'cuda' or 'cuda:1'"
        ) from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise ParameterError(
            f"device = {device!r} was asked for, but torch sees no CUDA GPU; use device = 'cpu'"
        )
    return TorchBackend(dtype, device)
