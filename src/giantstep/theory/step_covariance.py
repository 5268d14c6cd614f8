"""How each batch changes the rows' covariance: the blocks of the trained bulk's pencil, and their columns."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .batch import BatchLaw
from .bulk.pencil import BatchBlock, Columns, SpectralBasis
from .layer import FirstLayer, Frame, Neurons
from .step import Step
from .symmetric import indices


class StepCovariance:
    """What one step does to rows of each letter, in terms of the samples of its batch.

    A row becomes w' = Bw + k v_fg δ + n, and squared norms fluctuate by δ_Ψ = wᵀΨ(Ω)w - mean, which become

        δ'_Ψ = v_fb·w + δ_Ψ1 + Λ_Ψ δ + ε_Ψ,      Ψ1 = Ψϖ² + K2 ψ ω,   ψ = ∫μωΨ,   δ = δ_ω.

    The random part n has covariance (k²/α) A and correlates with ε along v_fa. Slopes and features see δ alone, but the
    norms `psi` [U, K, B, J] after this step are those that δ comes from in the end. A bias b of order d^-½ is one more
    entry of the row, on an input that is always 1: it adds k v_{e s1} b to w' and E[f_b] b to δ'.

    All of f_a, f_b and Λ are linear in the pair m̄_Ψ/c = ∫μωΨϖc̄/c and ψ, `pair` [U, K, B, 2]. For one norm, f_a and f_b
    are its own; for several they are the coefficients of the two, and `mixture` [U, K, B, functions] is the pair.

    Functions of a sample are [U, K, n], on the nodes of one rule over the batch, and averages [U, K, 1].
    """

    def __init__(
        self,
        neurons: Neurons,
        before: FirstLayer,
        step: Step,
        law: BatchLaw,
        first: bool,
        psi: np.ndarray | None = None,
    ):
        def E(values: np.ndarray) -> np.ndarray:
            return law.mean(values)[..., None]

        s, e = law.moments, law.e[:, None]
        self.law, self.first, self.neurons, self.spectrum = law, first, neurons, before.spectrum
        self.k, self.share = step.rate[:, None] * neurons.values, step.share
        k, a, c = self.k[..., None], step.share[:, None, None], before.c[..., None]
        self.simple = first and not np.any(s.s1)  # B = 1
        self.fs = turn = e * s.s1
        mu, omega = self.spectrum.mu[:, None], self.spectrum.omega[:, None]
        square, K2 = E(e**2 * s.n2), k**2 * a * E(turn**2)
        K3, K4 = k**3 * a**2 * E(turn**3), k**4 * a**3 * E(turn**4)
        c2, n22, n31 = s.n22 - c * s.n2, s.n22 - s.b2**2 / c, s.n31 - s.b2 * s.n21 / c

        self.psi = _first_norm(omega, self.k.shape) if psi is None else psi
        varpi = 1.0 + k * E(turn) * omega  # ϖ, [U, K, J]
        on_inputs = self.psi @ (mu * omega)[..., None]
        self.pair = np.concatenate(
            [self.psi @ (mu * omega * varpi * before.row_covariance / c)[..., None], on_inputs], axis=-1
        )
        self.psi1 = self.psi * varpi[:, :, None] ** 2 + K2[..., None] * on_inputs * omega[:, :, None]  # Ψ1

        self.fg = e * s.b2 / (2.0 * c**2)
        fb = (2.0 * k / c * e * s.b2, k**2 * a / c * e * (2.0 * turn * s.b2 + e * s.n21))
        fa = (
            2.0 * k**2 * a * e * (turn * s.b2 + e * s.n21),
            k**3 * a**2 * e * (turn**2 * s.b2 + 2.0 * e * turn * s.n21 + e**2 * s.n3),
        )
        if self.psi.shape[2] == 1:
            fa, fb = ([self.pair[:, :, 0, :1] * f[0] + self.pair[:, :, 0, 1:] * f[1]] for f in (fa, fb))
            self.mixture = np.ones_like(self.pair[..., :1])
        else:
            self.mixture = self.pair
        self.fa, self.fb = np.stack(fa, axis=1), np.stack(fb, axis=1)  # [U, functions, K, n]

        gains = [k / c**2 * E(e * s.b3), k**2 * a / c**2 * (E(e * turn * s.b3) + 0.5 * E(e**2 * c2))]
        self.gain = self.pair @ np.concatenate(gains, axis=-1)[..., None]  # Λ, [U, K, B, 1]
        both = [
            4.0 * K2 * c**2 + 4.0 * k**2 * a * (E(e**2 * n22) - c * square + 2.0 * E(e * turn * s.b3)),
            4.0 * K3 * c**2
            + 2.0 * k**3 * a**2 * E(e * (e * turn * (2.0 * n22 + c2) + 3.0 * turn**2 * s.b3 + e**2 * n31)),
            2.0 * K4 * c**2
            + k**4 * a**3 * E(e**4 * (s.n4 - s.n2**2 - s.n21**2 / c))
            + k**4 * a**3 * E(e * turn * (e * turn * (4.0 * n22 + 2.0 * c2) + 4.0 * turn**2 * s.b3 + 4.0 * e**2 * n31)),
        ]
        quadratic = np.concatenate([both[i] for i in (0, 1, 1, 2)], axis=-1).reshape(*self.k.shape, 2, 2)
        kept, fresh = varpi**2 * before.row_covariance, (K2 * c + k**2 * a * square) * omega
        integrand = 2.0 * mu * fresh * (2.0 * kept + fresh)  # 2μ (c̄'² - (ϖ²c̄)²)
        self.direct = self.pair @ quadratic @ np.swapaxes(self.pair, -1, -2)  # d Cov ε, [U, K, B, B]
        self.direct += (self.psi * integrand[:, :, None]) @ np.swapaxes(self.psi, -1, -2)
        self._weight = (k**2 * a * e**2 * s.n2, k * turn)
        self.known = before.known_directions()

    @cached_property
    def earlier(self) -> tuple[np.ndarray, np.ndarray]:
        """Norms before the step [U, K, B', J] of which those after it are made, δ first, and how, [U, K, B, B'].

        One more each time, but never more than there are eigenvalues: δ and the norms on all eigenvalues but the
        largest are enough for any other.
        """
        (U, K, B, J), omega = self.psi.shape, self.spectrum.omega
        first = _first_norm(omega[:, None], (U, K))
        if B < J:
            return np.concatenate([first, self.psi1], axis=2), np.broadcast_to(np.eye(B, B + 1, 1), (U, K, B, B + 1))
        top = np.broadcast_to(omega.argmax(axis=-1), U)
        others = np.argsort(indices(J) == top[:, None], axis=-1, kind="stable")[:, : J - 1]  # [U, J - 1]
        units = np.broadcast_to(np.eye(J)[others][:, None], (U, K, J - 1, J))
        at_top = np.take_along_axis(self.psi1, top[:, None, None, None], axis=-1)
        own = at_top / omega.max(axis=-1)[:, None, None, None]
        rest = self.psi1 - own * omega[:, None, None]
        rest = np.take_along_axis(rest, np.broadcast_to(others[:, None, None], (U, K, B, J - 1)), axis=-1)
        return np.concatenate([first, units], axis=2), np.concatenate([own, rest], axis=-1)

    @property
    def drawn_norms(self) -> np.ndarray:
        """d Cov(δ_Ψ, δ_Φ) of initial rows, for the norms before the step: [U, K, B', B']."""
        psi, mu = self.earlier[0], self.spectrum.mu[:, None, None]
        mean = (psi * mu).sum(axis=-1, keepdims=True)
        covariance = (psi * mu) @ np.swapaxes(psi, -1, -2) - mean * np.swapaxes(mean, -1, -2)
        return 2.0 * covariance + self.neurons.spread * mean * np.swapaxes(mean, -1, -2)

    @property
    def norms_fluctuate(self) -> bool:
        """Whether norms fluctuate before the step."""
        return not self.first or self.neurons.spread > 0.0 or self.spectrum.count > 1

    @cached_property
    def functions(self) -> np.ndarray:
        """[U, F, n]: those that make the spikes, then each of `kinds` for all groups."""
        U, K, n = *self.k.shape, self.law.e.shape[-1]
        both = self.fa + self.fb if self.simple else self.fa  # if B = 1, together
        own = {"fa": both, "fb": self.fb, "fg": self.fg[:, None], "fs": self.fs[:, None]}
        spikes = (self.law.e[:, None] * self.law.moments.s0)[:, None]
        parts = [spikes, *(own[kind] for kind in self.kinds)]
        return np.concatenate(
            [np.broadcast_to(part, (U, part.shape[1], K, n)).reshape(U, -1, n) for part in parts], axis=1
        )

    @property
    def kinds(self) -> dict[str, int]:
        """Which functions are needed besides the spikes', and how many of each."""
        count = self.mixture.shape[-1]
        biased = self.neurons.bias_spread > 0.0
        counts = {"fa": count, "fb": count, "fs": int(biased), "fg": int(self.norms_fluctuate)}
        return {kind: n for kind, n in counts.items() if n and not (self.simple and kind in ("fb", "fs"))}

    @cached_property
    def places(self) -> _Places:
        """Where the functions of a kind are, [count, K]."""
        places = _Places(self.k.shape[1])
        for kind, count in {"spikes": 1, **self.kinds}.items():
            places.add(kind, count)
        return places

    @cached_property
    def block(self) -> BatchBlock:
        """What the batch is in the pencil."""
        U, K = self.k.shape
        rank = K if self.simple else 2 * K
        D = np.zeros((U, rank, rank, self.law.e.shape[-1]))
        s = indices(K)
        D[:, s, s] = self._weight[0]
        if not self.simple:
            D[:, s, K + s] = D[:, K + s, s] = self._weight[1]
        return BatchBlock.of(self.law, D, self.functions, self.share, self.spike, *self.known)

    @cached_property
    def spike(self) -> np.ndarray:
        """What the functions add to the spikes, [U, K, F]."""
        U, K = self.k.shape
        spike = np.zeros((U, K, self.functions.shape[1]))
        spike[:, indices(K), indices(K)] = self.k
        return spike

    @property
    def lift(self) -> np.ndarray:
        """E[f_b], [U, K]."""
        return self.law.mean(self.fb[:, 0])

    @property
    def squared_norms(self) -> np.ndarray:
        """v_fb·v_fb' before there are spikes, for norms Ψ and Ψ', [U, K, B, B]."""
        f = np.swapaxes(self.fb, 1, 2)  # [U, K, functions, n]
        along = self.law.along(f)
        T1 = np.einsum("uj,ujab->uab", self.spectrum.omega, self.spectrum.tau)[:, None]
        products = self.share[:, None, None, None] * self.law.mean(f[:, :, :, None] * f[:, :, None])
        products = products + along @ T1 @ np.swapaxes(along, -1, -2)
        return self.mixture @ products @ np.swapaxes(self.mixture, -1, -2)


def _first_norm(omega: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Ψ = ω [V, 1, J] for all groups, [U, K, 1, J]."""
    return np.broadcast_to(omega[:, :, None], (*shape, 1, omega.shape[-1]))


def columns_of(neurons: Neurons, frame: Frame, steps: list[StepCovariance]) -> Columns:
    """The modes: W_s d̂_j, W_s ê_m, norms after the last step and biases; then those that are eliminated.

    These are the norms after earlier steps and of the initial rows, and the biases once more: they are the same in
    every step.
    """
    U, K = steps[0].k.shape
    ends = np.cumsum([0, *(one.block.rank for one in steps)])
    z = int(ends[-1])
    R = z + K
    to_target, to_spikes = frame.in_target_and_spikes()
    count, k = to_target.shape[1:]
    T, s, modes = len(steps), indices(K), neurons.modes(frame)
    biased = modes.biases > 0

    # places of the modes, [norms, K] each, and of the vectors that they are made of
    place, vector = _Places(K), _Places(K)
    for places in (place, vector):
        places.add("directions", count)
    place.add(("a", T), 1)
    place.add("shown bias", int(biased))
    shown = place.size
    for t, one in enumerate(steps, 1):
        if t < T:
            place.add(("a", t), one.psi.shape[2])
        vector.add(("a", t), one.mixture.shape[-1])
        if one.norms_fluctuate:
            place.add(("b", t), one.earlier[0].shape[2])
            vector.add(("b", t), 1)
    if steps[0].norms_fluctuate:
        place.add(("a", 0), steps[0].earlier[0].shape[2])
    place.add("bias", int(biased))
    vector.add("bias", int(biased))

    basis = SpectralBasis.of(steps[0].spectrum, T)
    target = np.zeros((U, k, R, vector.size))
    functions = [np.zeros((U, one.spike.shape[-1], R, vector.size)) for one in steps]
    made_of, constant = np.zeros((U, vector.size, place.size)), np.zeros((U, place.size, place.size))
    directions = vector["directions"]
    made_of[:, directions, place["directions"]] = 1.0
    for j, column in enumerate(directions):
        target[:, :, z + s, column] = -to_target[:, j, :, None]
        for one, inside in zip(steps, functions, strict=True):
            inside[:, :, z + s, column] = -(to_spikes[:, j, None] @ one.spike)[:, 0, :, None]

    if biased:
        bias, same = place["bias"][0], place["shown bias"][0]
        made_of[:, vector["bias"][0], bias] = 1.0
        constant[:, bias, bias] = -1.0 / neurons.bias_spread
        constant[:, bias, same] = constant[:, same, bias] = 1.0

    def couple(first: np.ndarray, second: np.ndarray, values: np.ndarray) -> None:
        """Put values [U, K, first, second] between modes, on both sides of the diagonal."""
        values = np.moveaxis(values, 1, -1)
        constant[:, first[:, None], second] += values
        if first is not second:
            constant[:, second[:, None], first] += np.swapaxes(values, 1, 2)

    for t, (one, inside, low) in enumerate(zip(steps, functions, ends, strict=False), 1):
        a, norms, own = int(low) + s, place["a", t], vector["a", t]
        made_of[:, own[:, None], norms] = np.moveaxis(one.mixture, (1, 2), (3, 2))
        inside[:, one.places["fa"], a, own] = 1.0
        couple(norms, norms, one.direct + one.squared_norms if one.simple else one.direct)
        if not one.simple:
            inside[:, one.places["fb"], a + K, own] = 1.0
        if biased:
            # two levels meet with a minus sign when those between them are eliminated
            sign = (-1.0) ** (T - t)
            couple(norms, place["bias"], sign * one.lift[..., None, None])
            if not one.simple:
                inside[:, one.places["fs"][0], a, vector["bias"][0]] = sign * one.k
        if one.norms_fluctuate:
            before, feed = place["b", t], vector["b", t][0]
            made_of[:, feed, before[0]] = 1.0
            inside[:, one.places["fg"][0], a, feed] = one.k
            couple(norms, before, one.earlier[1])
            couple(norms, before[:1], one.gain)
            couple(before, place["a", t - 1], np.broadcast_to(np.eye(len(before)), (U, K, len(before), len(before))))
    if steps[0].norms_fluctuate:
        couple(place["a", 0], place["a", 0], steps[0].drawn_norms)
    return Columns.on_spectrum(basis, target, functions, len(directions) * K, made_of, constant, modes, shown)


class _Places(dict[object, np.ndarray]):
    """Where columns of each kind are, [count, K], as they are added."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups, self.size = groups, 0

    def add(self, kind: object, count: int) -> None:
        self[kind] = self.size + np.arange(count * self.groups).reshape(count, self.groups)
        self.size += count * self.groups
