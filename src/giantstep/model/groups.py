"""Groups of neurons that behave alike are one group: merge a vocabulary of letters, expand the answers back.

Letters that are equal are one group in disguise. For an odd activation so are (letter, bias) and its negative,
exactly and at any d: flipping the signs of a neuron's letter, bias, row and readout weight changes nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..answers.quantities import letter_axes
from .letters import Letters


class Merging(NamedTuple):
    """Distinct groups, and how each of the user's letters sits in them."""

    letters: Letters
    group: np.ndarray  # [S] index of the group of each letter
    share: np.ndarray  # [S] its share of that group's neurons
    sign: np.ndarray  # [S] -1 where the letter is the group's mirror image


@lru_cache(maxsize=64)
def merge(letters: Letters, odd: bool) -> Merging:
    """The distinct groups of a vocabulary."""
    count = len(letters.values)
    biases, norms = letters.biases or (0.0,) * count, letters.c or (1.0,) * count
    keys: dict[tuple[float, float, float], float] = {}
    members, signs = [], []
    for value, weight, bias, c in zip(letters.values, letters.weights, biases, norms, strict=True):
        flip = odd and (value < 0 or (value == 0 and bias < 0))
        key = (-value + 0.0, -bias + 0.0, c) if flip else (value, bias, c)
        keys[key] = keys.get(key, 0.0) + weight
        members.append(key)
        signs.append(-1.0 if flip else 1.0)
    order = list(keys)
    group = np.array([order.index(key) for key in members])
    total = np.array(list(keys.values()))
    merged = Letters(
        tuple(key[0] for key in order),
        tuple(total / total.sum()),
        None if letters.biases is None else tuple(key[1] for key in order),
        None if letters.c is None else tuple(key[2] for key in order),
    )
    return Merging(merged, group, np.asarray(letters.weights) / total[group], np.array(signs))


def expand(answers: dict[str, np.ndarray], merging: Merging, c: np.ndarray) -> dict[str, np.ndarray]:
    """Order parameters [U, A, groups...] as the user's letters have them; c [U, groups] are squared row norms.

    A letter holds its share of its group's sums. Sums of a (m, χ) change sign with it, sums of a·w (ζ, ψ) and a·b
    (ν) do not. Two letters of one group also differ by how the group's neurons happen to be divided between them:
    that adds c·V2 (δ_st - share) shares to V1, and likewise for q1.
    """
    group, share, sign = merging.group, merging.share, merging.sign
    if len(group) == 1:  # the letter is the group, of either sign
        return answers | {name: answers[name] * sign for name in ("m", "chi")}
    found = dict(answers)
    for name in ("m", "chi", "zeta", "psi", "nu", "q2", "V2"):
        found[name] = answers[name][..., group] * (share * (sign if name in ("m", "chi") else 1.0))
    same = group[:, None] == group
    division = np.where(same, np.diag(share) - np.outer(share, share), 0.0)
    for first, second in (("q1", "q2"), ("V1", "V2")):
        matrix = answers[first][..., group[:, None], group] * np.outer(share, share)
        with np.errstate(invalid="ignore"):  # responses are infinite where a ridgeless readout interpolates
            spread = (c[:, None] * answers[second])[..., group][..., None] * division
            total = matrix + np.where(division == 0.0, 0.0, spread)
        found[first] = np.where(np.isinf(matrix), np.inf, total)
    return found


def summed(answers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Order parameters summed over the letters, for a vocabulary that stands for a continuous law."""
    axes = {name: tuple(range(-letter_axes(name), 0)) for name in answers}
    return {name: values.sum(axis=axes[name]) if axes[name] else values for name, values in answers.items()}
