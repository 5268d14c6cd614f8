"""What each batch has left in the rows: the blocks of the trained bulk's pencil, and the columns between them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .batch import BatchLaw
from .bulk.pencil import BatchBlock, Columns
from .layer import FirstLayer, Frame, Neurons
from .step import Step
from .upto import upto


class StepCovariance:
    """What one step does to rows of each letter, in terms of the samples of its batch.

    With m = m̄ + (k/α) e s1 a row becomes w' = Bw + k v_fg δ + n, and its squared norm fluctuates by
    δ' = v_fb·w + Λδ + ε: the random part n has covariance (k²/α) A and correlates with ε along v_fa. A bias b of order
    d^-½ is one more entry of the row, on an input that is always 1: it adds k v_{e s1} b to w' and E[f_b] b to δ'.

    Functions of a sample are [U, K, n], on the nodes of one rule over the batch, and averages [U, K, 1].
    """

    def __init__(self, neurons: Neurons, before: FirstLayer, step: Step, law: BatchLaw, first: bool):
        def E(values: np.ndarray) -> np.ndarray:
            return law.mean(values)[..., None]

        s, e = law.moments, law.e[:, None]
        self.law, self.first, self.neurons = law, first, neurons
        self.k, self.share = step.rate[:, None] * neurons.values, step.share
        k, a, c = self.k[..., None], step.share[:, None, None], before.c[..., None]
        self.simple = first and not np.any(s.s1)  # B = 1
        m_bar = 1.0 + k * E(e * s.s1)
        m = m_bar + k * a * e * s.s1
        excess = m**2 - m_bar**2
        self.fg = e * s.b2 / (2.0 * c**2)
        self.fb = 2.0 * k * e * m * s.b2 / c + k**2 * a / c * e**2 * s.n21
        self.fs = e * s.s1
        self.fa = k * s.b2 * e * excess + 2.0 * k**2 * a * s.n21 * e**2 * m + k**3 * a**2 * s.n3 * e**3
        nu = k**2 * a * E((e * s.s1) ** 2)
        K3, K4 = k**3 * a**2 * E((e * s.s1) ** 3), k**4 * a**3 * E((e * s.s1) ** 4)
        square = E(e**2 * s.n2)
        growth = m_bar**2 + nu
        fourth_trace = K4 + 4.0 * K3 * m_bar + 2.0 * nu**2 + 6.0 * nu * m_bar**2 + m_bar**4
        c2 = s.n22 - c * s.n2
        self.gain = growth + k / c**2 * E(e * m * s.b3) + k**2 * a / (2.0 * c**2) * E(e**2 * c2)  # Λ
        self.lift = E(self.fb)  # E[f_b]
        self.direct = (
            2.0 * c**2 * (fourth_trace - growth**2)
            + 4.0 * k**2 * a * (E(e**2 * m**2 * (s.n22 - s.b2**2 / c)) + c * nu * square)
            + k**4 * a**3 * E(e**4 * (s.n4 - s.n2**2 - s.n21**2 / c))
            + 2.0 * k**4 * a**2 * square**2
            + 4.0 * k * E(e * m * s.b3 * excess)
            + 2.0 * k**2 * a * E(e**2 * c2 * excess)
            + 4.0 * k**3 * a**2 * E(e**3 * m * (s.n31 - s.b2 * s.n21 / c))
        )  # d Var ε
        self._weight = (k**2 * a * e**2 * s.n2, k * e * s.s1)
        self.frame = None if not np.any(before.gram) else before.frame()

    @cached_property
    def functions(self) -> np.ndarray:
        """[U, F, n]: those that make the spikes, then each of `kinds` for all groups."""
        both = self.fa + self.fb if self.simple else self.fa  # if B = 1, together
        own = {"fa": both, "fb": self.fb, "fg": self.fg, "fs": self.fs}
        parts = [self.law.e[:, None] * self.law.moments.s0, *(own[kind] for kind in self.kinds)]
        shape = (*self.k.shape, self.law.e.shape[-1])
        return np.concatenate([np.broadcast_to(part, shape) for part in parts], axis=1)

    @property
    def kinds(self) -> list[str]:
        """Which functions are needed, besides those of the spikes."""
        fed = not self.first or self.neurons.spread > 0.0
        biased = self.neurons.bias_spread > 0.0
        turned = [] if self.simple else ["fb", *["fs"] * biased]
        return ["fa", *turned, *["fg"] * fed]

    def place(self, kind: str) -> int:
        """Where the functions of a kind begin."""
        return self.k.shape[1] * (1 + self.kinds.index(kind))

    @cached_property
    def block(self) -> BatchBlock:
        """What the batch is in the pencil."""
        U, K = self.k.shape
        rank = K if self.simple else 2 * K
        D = np.zeros((U, rank, rank, self.law.e.shape[-1]))
        s = upto(K)
        D[:, s, s] = self._weight[0]
        if not self.simple:
            D[:, s, K + s] = D[:, K + s, s] = self._weight[1]
        count = self.law.directions
        if self.frame is None:
            to_target = np.broadcast_to(np.eye(count), (U, count, count))
            to_spikes = np.zeros((U, count, K))
        else:
            to_target, to_spikes = directions(self.frame)
        return BatchBlock.of(self.law, D, self.functions, self.share, self.spike, to_target, to_spikes)

    @cached_property
    def spike(self) -> np.ndarray:
        """What the functions add to the spikes, [U, K, F]."""
        U, K = self.k.shape
        spike = np.zeros((U, K, self.functions.shape[1]))
        spike[:, upto(K), upto(K)] = self.k
        return spike


def directions(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """d̂_j and ê_m of a frame as combinations of θ̂ [U, S + k, k] and of the spikes [U, S + k, K]."""
    assert frame.dual is not None
    U, S, K = frame.dual.shape
    k = frame.gamma.shape[1]
    met = min(S, k)
    to_target, to_spikes = np.zeros((U, S + k, k)), np.zeros((U, S + k, K))
    to_spikes[:, :S] = frame.dual
    to_target[:, S:] = frame.across[..., None] * np.swapaxes(frame.turn, -1, -2)
    to_spikes[:, S : S + met] = -(frame.across * frame.gamma)[:, :met, None] * frame.dual[:, :met]
    return to_target, to_spikes


def columns_of(neurons: Neurons, frame: Frame, steps: list[StepCovariance]) -> Columns:
    """The modes: W_s d̂_j, W_s ê_m, norms after the last step and biases; then those that are eliminated.

    These are the norms after earlier steps, and the biases once more: they are the same in every step.
    """
    U, K = steps[0].k.shape
    ends = np.cumsum([0, *(one.block.rank for one in steps)])
    z = int(ends[-1])
    R = z + K
    to_target, to_spikes = directions(frame)
    count, k = to_target.shape[1:]
    T, s, modes = len(steps), upto(K), neurons.modes(frame)
    shown = [("a", T - 1)] + [("bias", T)] * modes.biases
    hidden = [("a", t) for t in range(T - 1)] + [("bias", 0)] * modes.biases
    hidden += [("b", t) for t in range(T) if t > 0 or neurons.spread]
    m = (count + len(shown) + len(hidden)) * K
    target = np.zeros((U, k, R, count, K))
    functions = [np.zeros((U, one.spike.shape[-1], R, m)) for one in steps]
    constant = np.zeros((U, m, m))
    target[:, :, z + s, :, s] = -np.swapaxes(to_target, -1, -2)
    target = np.concatenate([target.reshape(U, k, R, count * K), np.zeros((U, k, R, m - count * K))], axis=-1)
    for one, inside in zip(steps, functions, strict=True):
        made = np.zeros((U, inside.shape[1], R, count, K))
        made[:, :, z + s, :, s] = -np.swapaxes(to_spikes @ one.spike, -1, -2)
        inside[..., : count * K] = made.reshape(U, -1, R, count * K)
    where = {own: (count + i) * K + s for i, own in enumerate(shown + hidden)}
    bias, same = (where.get(("bias", t)) for t in (0, T))
    if bias is not None:
        constant[:, bias, bias] = -1.0 / neurons.bias_spread
        constant[:, bias, same] = constant[:, same, bias] = 1.0
    for t, (one, inside, low) in enumerate(zip(steps, functions, ends, strict=False)):
        a, mode = int(low) + s, where["a", t]
        inside[:, one.place("fa") + s, a, mode] = 1.0
        constant[:, mode, mode] = one.direct[..., 0]
        if one.simple:
            constant[:, mode, mode] += _squared_norm(one.law, one.share, one.fb)
        else:
            inside[:, one.place("fb") + s, a + K, mode] = 1.0
        if bias is not None:
            # two levels meet with a minus sign when those between them are eliminated
            sign = (-1.0) ** (T - 1 - t)
            constant[:, mode, bias] = constant[:, bias, mode] = sign * one.lift[..., 0]
            if not one.simple:
                inside[:, one.place("fs") + s, a, bias] = sign * one.k
        if ("b", t) not in where:
            continue
        fed = where["b", t]
        inside[:, one.place("fg") + s, a, fed] = one.k
        constant[:, mode, fed] = constant[:, fed, mode] = one.gain[..., 0]
        if t > 0:
            constant[:, fed, where["a", t - 1]] = constant[:, where["a", t - 1], fed] = 1.0
        else:
            constant[:, fed, fed] = -1.0 / neurons.spread
    return Columns(target, tuple(functions), constant, modes, (count + len(shown)) * K)


def _squared_norm(law: BatchLaw, share: np.ndarray, f: np.ndarray) -> np.ndarray:
    """|v_f|² for f [U, K, n], [U, K]."""
    return share[:, None] * law.mean(f**2) + (law.along(f) ** 2).sum(axis=-1)
