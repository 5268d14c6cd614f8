"""The initial readout: finite vocabularies of letters, and continuous laws as quadrature groups.

Groups of neurons that behave alike are one group: `merge` a vocabulary of letters, `expand` the answers back. Letters
that are equal are one group in disguise. For an odd activation so are (letter, bias) and its negative, exactly and at
any d: flipping the signs of a neuron's letter, bias, row and readout weight changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from attrs import asdict, field

from ..answers.quantities import letter_axes
from ..errors import ParameterError
from .checks import number, number_tuple, one_of
from .description import Description, description

_POSITIVE = {"low": 0.0, "strict": True}


_RULES: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {  # Gauss nodes and weights of continuous laws
    "gaussian": np.polynomial.hermite_e.hermegauss,
    # variance one, as the other vocabularies (almost) have
    "uniform-interval": lambda n: (
        math.sqrt(3.0) * np.polynomial.legendre.leggauss(n)[0],
        np.polynomial.legendre.leggauss(n)[1],
    ),
}


@description
class Letters(Description):
    """The initial readout weights: a fraction `weights[s]` of the neurons start with the weight `values[s]`/√p.

    Each entry is a *letter*, and all neurons with the same letter form a group. A `Network` or a `SpikedRF` takes it
    as `readout=`; the names "uniform", "rademacher", "ternary", "gaussian" and "uniform-interval" stand for common
    ones.

    Parameters
    ----------
    values : sequence of float
        The letters.
    weights : sequence of float
        The share of the neurons that has each letter; positive, with sum 1.
    biases : sequence of float, optional
        Added to the pre-activations of each letter's neurons, and never trained.
    c : sequence of float, optional
        For a `SpikedRF`: the squared norm of the rows of each letter, apart from the spike. The default is the
        model's `c`.
    law : {"gaussian", "uniform-interval"}, optional
        The continuous distribution that these letters stand for, as nodes of a quadrature rule. Statistics are then
        sums over all neurons, and a simulation gives its neurons the quantiles of the distribution.

    Examples
    --------
    >>> letters = gs.Letters(values=(-1, 0, 1), weights=(0.25, 0.5, 0.25))
    >>> net = gs.Network("relu", eta=1, alpha0=1, readout=letters)
    >>> gs.predict(net, "sin", alpha=1, lam=0.1).m.values.round(2) + 0.0  # the mean trained weight of each group
    array([-0.93,  0.  ,  0.93])
    """

    values: tuple[float, ...] = field(converter=partial(number_tuple, "Letters.values"))
    weights: tuple[float, ...] = field(converter=partial(number_tuple, "Letters.weights", **_POSITIVE))
    biases: tuple[float, ...] | None = field(default=None, converter=partial(number_tuple, "Letters.biases"))
    c: tuple[float, ...] | None = field(default=None, converter=partial(number_tuple, "Letters.c", **_POSITIVE))
    law: str | None = field(default=None, converter=partial(one_of(*_RULES), "Letters.law"))

    def __attrs_post_init__(self) -> None:
        for name in ("weights", "biases", "c"):
            numbers = getattr(self, name)
            if numbers is not None and len(numbers) != len(self.values):
                raise ParameterError(
                    f"Letters.{name} has {len(numbers)} entries for {len(self.values)} values; give one each"
                )
        if not math.isclose(sum(self.weights), 1.0, rel_tol=1e-9):
            raise ParameterError(f"Letters.weights = {self.weights} must be shares of the neurons that sum to 1")
        if self.law is not None and (self.biases is not None or self.c is not None):
            raise ParameterError("Letters.law is for letters alone; give biases or c with a finite vocabulary")

    def with_biases(self, law: str, scale: float, nodes: int = 8) -> Letters:
        """These letters on neurons whose biases follow a continuous law, by the nodes of its Gauss rule.

        Both theory and simulation use the nodes as biases, each for its share of the neurons. With a scale of 0.5,
        eight nodes are accurate to about 1e-5 (Gaussian) or 1e-7 (interval); with a scale of 1, to 1e-3 or 1e-5.
        Unbounded activations need a smaller scale, or an interval. From the second step on, every node has a spike of
        its own; the theory covers up to four.

        Parameters
        ----------
        law : {"gaussian", "uniform-interval"}
            Distribution of the biases, with mean 0 and independent of the letters.
        scale : float
            Standard deviation of the biases, of order one. For biases of order 1/√d see `Network` and its `bias_scale`.
        nodes : int
            Number of nodes of the rule.

        Examples
        --------
        >>> relus = [gs.Letters((1,), (1,)).with_biases("gaussian", scale) for scale in (0.25, 0.5)]
        >>> nets = [gs.Network("relu", eta=2, alpha0=1, readout=letters) for letters in relus]
        >>> [round(gs.predict(net, "sin", alpha=1.5, lam=0.1, d=1000).test_error.item(), 4) for net in nets]
        [0.3412, 0.3266]
        """
        one_of(*_RULES)("law", law)
        if self.biases is not None or self.law is not None:
            raise ParameterError("with_biases is for a finite vocabulary that has no biases yet")
        scale, nodes = number("scale", scale, low=0.0), int(number("nodes", nodes, low=1.0, high=100.0))
        at, share = _RULES[law](nodes)
        biases = np.tile(scale * at, len(self.values))
        weights = np.outer(self.weights, share / share.sum()).reshape(-1)
        c = None if self.c is None else tuple(np.repeat(self.c, nodes))
        return Letters(tuple(np.repeat(self.values, nodes)), tuple(weights), tuple(biases), c)

    @property
    def single(self) -> bool:
        """Whether statistics come without a letter dimension: one letter, or a sum over a continuous law."""
        return len(self.values) == 1 or self.law is not None

    def of_neurons(self, p: int) -> np.ndarray:
        """The letters of p neurons under a continuous law: its quantiles, in order."""
        from scipy.special import ndtri

        shares = (np.arange(p) + 0.5) / p
        return ndtri(shares) if self.law == "gaussian" else math.sqrt(3.0) * (2.0 * shares - 1.0)

    @property
    def uniform(self) -> bool:
        """One letter, of value 1, no bias: the setting of the paper's main text."""
        return self.values == (1.0,) and self.biases is None and self.c is None

    def _as_data(self, text: Callable[[Any], str]) -> dict[str, Any]:
        return asdict(self, filter=lambda _, value: value is not None)


_LAW_NODES = 12  # test errors to about 1e-3 (Gaussian) or 1e-5 (interval) for tanh; "gaussian:20" asks for 20

_NAMED_LETTERS = {
    "uniform": ((1.0,), (1.0,)),
    "rademacher": ((-1.0, 1.0), (0.5, 0.5)),
    "ternary": ((-1.0, 0.0, 1.0), (0.25, 0.5, 0.25)),
}


def as_letters(spec: str | Letters) -> Letters:
    """The `Letters` that a name or an instance stands for."""
    if isinstance(spec, Letters):
        return spec
    if isinstance(spec, str) and spec in _NAMED_LETTERS:
        return Letters(*_NAMED_LETTERS[spec])
    law, _, nodes = str(spec).partition(":")
    if law in _RULES and (not nodes or (nodes.isdecimal() and 1 <= int(nodes) <= 100)):
        values, weights = _RULES[law](int(nodes or _LAW_NODES))
        return Letters(tuple(values), tuple(weights / weights.sum()), law=law)
    raise ParameterError(
        f"readout = {spec!r} is unknown; use one of {', '.join(sorted([*_NAMED_LETTERS, *_RULES]))}, or letters and"
        " their shares, such as Letters((-1, 1), (0.5, 0.5))"
    )


class Merging(NamedTuple):
    """Distinct groups, and how each of the user's letters sits in them."""

    letters: Letters
    group: np.ndarray  # [S] index of the group of each letter
    share: np.ndarray  # [S] its share of that group's neurons
    sign: np.ndarray  # [S] -1 where the letter is the group's mirror image


@lru_cache(maxsize=64)
def merge(letters: Letters, odd: bool) -> Merging:
    """The distinct groups of a vocabulary."""
    weights, ones = np.array(letters.weights), np.ones(len(letters.values))
    value, bias, c = np.array(letters.values), letters.biases or 0.0 * ones, letters.c or ones
    sign = np.where(odd & ((value < 0.0) | ((value == 0.0) & (np.asarray(bias) < 0.0))), -1.0, 1.0)
    alike = [tuple(one) for one in (np.stack([sign * value, sign * bias, c], axis=1) + 0.0).tolist()]
    groups = list(dict.fromkeys(alike))
    group = np.array([groups.index(one) for one in alike])
    share = np.bincount(group, weights)
    values, biases, norms = zip(*groups, strict=True)
    merged = Letters(values, share / share.sum(), letters.biases and biases, letters.c and norms)
    return Merging(merged, group, weights / share[group], sign)


def expand(answers: dict[str, np.ndarray], merging: Merging, c: np.ndarray) -> dict[str, np.ndarray]:
    """Order parameters [U, A, groups...] as the user's letters have them; c [U, groups] are squared row norms.

    A letter holds its share of its group's sums. Sums of a (m, χ) change sign with it, sums of a·w (ζ, ψ) and a·b
    (ν) do not. Two letters of one group also differ by how the group's neurons happen to be divided between them:
    that adds c·V2 (δ_st - share) shares to V1, and likewise for q1.
    """
    group, share, sign = merging.group, merging.share, merging.sign
    of_letters = dict(answers)
    for name in ("m", "chi", "zeta", "psi", "nu", "q2", "V2"):
        of_letters[name] = answers[name][..., group] * (share * (sign if name in ("m", "chi") else 1.0))
    same = group[:, None] == group
    division = np.where(same, np.diag(share) - np.outer(share, share), 0.0)
    for first, second in (("q1", "q2"), ("V1", "V2")):
        matrix = answers[first][..., group[:, None], group] * np.outer(share, share)
        with np.errstate(invalid="ignore"):  # responses are infinite where a ridgeless readout interpolates
            spread = (c[:, None] * answers[second])[..., group][..., None] * division
            total = matrix + np.where(division == 0.0, 0.0, spread)
        of_letters[first] = np.where(np.isinf(matrix), np.inf, total)
    return of_letters


def summed(answers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Order parameters summed over the letters, for a vocabulary that stands for a continuous law."""
    axes = {name: tuple(range(-letter_axes(name), 0)) for name in answers}
    return {name: values.sum(axis=axes[name]) if axes[name] else values for name, values in answers.items()}
