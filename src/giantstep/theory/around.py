"""A point of the theory together with points around it: what derivatives of its answers are made of.

Parameters shape a first layer, and with it features, labels and the law of rows: explicit maps, whose derivatives are
differences of high order, between points that were made together on the same rules. What follows from there is a fixed
point, and is differentiated implicitly by whoever solves it (`giantstep.theory.solver`): to first order it moves by
one step of Newton's method. Infinitesimal imaginary parts carry derivatives through all that is analytic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from .bulk import Bulk
from .equations.means import Setting
from .features import Features
from .labels import Label
from .solver import OnRule

TINY = 1e-20  # an imaginary step: its square is lost in rounding, so that nothing but rounding is lost
FOURTH_ORDER = {1: 2.0 / 3.0, -1: -2.0 / 3.0, 2: -1.0 / 12.0, -2: 1.0 / 12.0}
"""Shares of values at so many steps along an axis in a derivative, times the step: a difference of fourth order."""


@dataclass(frozen=True)
class Around:
    """U first layers with one readout each, the first of which is the point; and D directions to go from there.

    `weights` [D, U] times what belongs to first layers is its derivative along each direction. All readouts of the
    `rule` are told the same; `setting` [D, 1] is that, with derivatives as infinitesimal imaginary parts.
    """

    rule: OnRule
    weights: np.ndarray
    setting: Setting

    @cached_property
    def point(self) -> OnRule | None:
        """The point itself; None where its bulk cannot be told from those around it."""
        rule, first = self.rule, _rows(slice(0, 1))
        bulk = rule.bulk.mapped(lambda part: mapped(part, first))
        if bulk is None:
            return None
        parts = {
            name: mapped(getattr(rule, name), first) for name in ("chunk", "features", "label", "setting")
        }
        return replace(rule, bulk=bulk, made=[], **parts)  # its channel is another one

    def departing(self) -> tuple[Features, Label, Bulk, Setting]:
        """Features, labels, bulk and setting of the point [D, ...], derivatives being infinitesimal imaginary parts."""
        U, D, weights = len(self.rule.chunk), len(self.weights), self.weights
        assert self.point is not None

        def change(array: np.ndarray) -> np.ndarray:
            if U == 1 or len(array) != U:  # the same for all
                return array[:1].repeat(D, axis=0)
            return array[0] + 1j * TINY * np.tensordot(weights, array, 1)

        bulk = self.rule.bulk.mapped(lambda part: mapped(part, change), self.point.bulk)
        assert bulk is not None
        common = None if self.rule.setting.common is None else change(self.rule.setting.common)
        features, label = (mapped(part, change) for part in (self.rule.features, self.rule.label))
        return features, label, bulk, replace(self.setting, common=common)


def _rows(chosen: slice) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: array[chosen]


def mapped(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The same with every array in it changed: of tuples, named ones too, and of dataclasses, whatever they hold."""
    if isinstance(value, np.ndarray):
        return change(cast(np.ndarray, value))
    if isinstance(value, tuple):
        parts = [mapped(part, change) for part in cast(tuple[Any, ...], value)]
        named: Any = getattr(cast(Any, value), "_make", tuple)
        return named(parts)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{own.name: mapped(getattr(value, own.name), change) for own in fields(value)})
    return value
