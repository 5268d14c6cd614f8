"""SampleBlocks in blocks: inputs x ~ N(0, I_d), the noiseless target at them, and the labels as observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..model import Target
from .backend import Backend
from .draw import Draws, Kind


class Block(NamedTuple):
    """Consecutive samples of a batch, from row `start` on."""

    start: int
    inputs: Any  # [rows, d]
    clean: Any  # [rows], the noiseless target: for binary labels its sign
    labels: Any  # [rows], what the learner sees


class SampleBlocks(Protocol):
    """A batch that comes in blocks, whatever it is made of."""

    def blocks(self, rows: int) -> Iterator[Block]: ...


@dataclass(frozen=True)
class Data:
    """An endless batch of labelled samples, of which any number of first rows can be asked for."""

    batch: int  # what it is for: a `Purpose`, or `step_batch`
    target: Target
    theta: tuple[Any, ...]  # the target's directions, unit vectors [d]
    draws: Draws

    def blocks(self, rows: int) -> Iterator[Block]:
        """The first `rows` samples, a block at a time."""
        size = self.draws.backend.block_rows
        for start in range(0, rows, size):
            yield self.block(start, min(start + size, rows))

    def block(self, start: int, stop: int) -> Block:
        inputs = self.draws.normal(self.batch, Kind.INPUTS, start, stop, self.theta[0].shape[0])
        field = self.draws.backend.matmul(inputs, self.theta[0])
        clean, labels = self._labels(field, start, stop)
        return Block(start, inputs, clean, labels)

    def _labels(self, field: Any, start: int, stop: int) -> tuple[Any, Any]:
        """Noiseless target and label at θ·x/√d = `field`.

        Real labels are σ*(z) + noise·ε. Binary ones are the sign of σ* at z + latent_noise·ε, or ±1 with
        probability sigmoid(scale·(z + latent_noise·ε)), then turned over with probability `flips`.
        """
        target, xp = self.target, self.draws.backend.xp
        clean = target.function(field)
        if not target.binary:
            noise = float(target.noise)  # type: ignore[arg-type]
            return clean, clean + noise * self._normal(start, stop) if noise else clean
        latent = field + target.latent_noise * self._normal(start, stop) if target.latent_noise else field
        if target.scale is None:
            labels = xp.sign(target.function(latent))
        else:
            positive = (1 + xp.tanh(target.scale / 2 * latent)) / 2  # a sigmoid that does not overflow
            coin = self.draws.uniform(self.batch, Kind.COIN, start, stop)
            labels = _sign_where(coin < positive, self.draws.backend)
        if target.flips:
            turned = self.draws.uniform(self.batch, Kind.FLIPS, start, stop) < target.flips
            labels = -labels * _sign_where(turned, self.draws.backend)
        return xp.sign(clean), labels

    def _normal(self, start: int, stop: int) -> Any:
        return self.draws.normal(self.batch, Kind.NOISE, start, stop, 1)[:, 0]


def _sign_where(condition: Any, backend: Backend) -> Any:
    """+1 where the condition holds, -1 elsewhere."""
    return 2 * backend.xp.astype(condition, backend.dtype) - 1
