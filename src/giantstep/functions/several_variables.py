"""`Joint`: a function of several variables, the projections x1, x2, ... of the input on the target's directions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..errors import ExpressionError, ParameterError, warn
from ..model.checks import floats
from .catalogue import as_function, shortened
from .expression import compact, indices, parse
from .function import Function
from .hyperplanes import Hyperplane, as_planes, distinct, hyperplanes, steep_steps
from .names import TARGETS, named_target
from .program import Program
from .tree import Node
from .variation import Followed, follow_lines

MAX_DIRECTIONS = 4
_TRIALS = 512


class Joint(Function):
    """A function of `directions` variables, wrapped around a user's own callable.

    `function` takes so many arrays and returns one of the same shape. `kinks` are the hyperplanes n·z = c, as pairs
    (n, c), where it or its slope jumps: integrals are split there, and lose accuracy at those not named.
    """

    steep_steps: tuple[Hyperplane, ...] = ()

    def __init__(self, function: Callable[..., Any], directions: int, kinks: Iterable[Hyperplane] = ()):
        super().__init__(function)
        self.__dict__.update(directions=directions, kinks=_checked_kinks(kinks, directions))
        _check(self)

    parity = None  # type: ignore[assignment]

    def splits(self, signs: bool) -> tuple[Hyperplane, ...]:
        """Where integrals are split: at kinks, and around steep steps; those of its sign, with `signs`."""
        return self.kinks if signs else distinct((*self.kinks, *self.steep_steps))

    def warn_of_curved_signs(self) -> None:
        """Say so if the sign is known to jump where integrals cannot be split."""


@lru_cache(maxsize=256)
def followed(function: Joint, signs: bool) -> Followed:
    """How fast a function, or its sign, varies, and the feature, if any, that rules of integration would miss."""
    planes = as_planes(function.splits(signs), function.directions)
    return follow_lines((lambda *z: np.sign(function(*z))) if signs else function, function.directions, planes)


def _warn_of_curves(what: str) -> None:
    warn(
        f"{what} on curved surfaces, where integrals cannot be split: they converge slowly or not at all, and"
        " `quadrature_error` tells how far they are off"
    )


class JointFormula(Joint):
    """An expression in x1, x2, ...; equal to others of the same `spec`."""

    _declared: tuple[Hyperplane, ...]
    _tree: Node

    def __init__(self, tree: Node, spec: str, directions: int, kinks: Iterable[Hyperplane] = ()):
        planes, curved = hyperplanes(tree, directions)
        declared = _checked_kinks(kinks, directions)
        self.__dict__.update(
            _tree=tree,
            _program=Program(tree),
            _spec=spec,
            _declared=declared,
            name=shortened(spec),
            directions=directions,
            kinks=distinct((*planes, *declared)),
            steep_steps=steep_steps(tree, directions),
        )
        _check(self)
        if curved and not declared:
            _warn_of_curves(f"target {self.name!r} has kinks or jumps")

    @cached_property
    def _signs(self) -> tuple[tuple[Hyperplane, ...], bool]:
        """Hyperplanes on which the sign jumps, and whether it does so on curved surfaces too."""
        planes, curved = hyperplanes(self._tree, self.directions, signs=True)
        return distinct((*self.kinks, *planes)), curved and not self._declared

    def splits(self, signs: bool) -> tuple[Hyperplane, ...]:
        return self._signs[0] if signs else super().splits(signs)

    def warn_of_curved_signs(self) -> None:
        if self._signs[1]:
            _warn_of_curves(f"the sign of target {self.name!r} jumps")

    def __reduce__(self) -> tuple[Any, ...]:
        return target_function, (self.spec, self.directions, self.__dict__["_declared"])


def target_function(function: Any, directions: int = 1, kinks: Any = ()) -> Function:
    """The function that a target is meant to have: of x, or of x1, x2, ... (`Joint`).

    A text speaks for itself; "committee", "parity" and "staircase" have `directions` = 2 unless told otherwise. A
    callable has as many directions as arguments.
    """
    if isinstance(function, Joint):
        return function
    if isinstance(function, str):
        return _from_text(function, directions, kinks)
    if callable(function) and not isinstance(function, Function):
        directions = _arguments(function, directions)
    if directions > 1 and callable(function):
        _check_count(directions)
        return Joint(function, directions, kinks)
    if kinks:
        raise ParameterError("kinks are for targets of several directions; of one, give Function(f, breakpoints=...)")
    if directions != 1:
        raise ParameterError(f"directions = {directions!r} does not fit {function!r}, a function of one variable")
    return as_function(function)


@lru_cache(maxsize=256)
def _from_text(text: str, directions: int, kinks: tuple[Hyperplane, ...]) -> Function:
    build = named_target(text)
    if build is not None:
        directions = max(2, directions)
        text = build(directions)
    named = indices(text)
    if not named:
        single = as_function(text, also=(*TARGETS, "logistic"))  # the latter is a law of labels, which Target knows
        if directions != 1 or kinks:
            raise ParameterError(
                f"{'kinks' if kinks else 'directions'} are for several directions, and {text!r} is a function of x, a"
                " single one; write x1, x2, ... for several"
            )
        return single
    count = max(named)
    if directions not in (1, count):
        raise ParameterError(f"directions = {directions} does not fit {text!r}, which contains x{count}")
    _check_count(count)
    tree = parse(text, [f"x{j}" for j in range(1, count + 1)])  # first: errors show the text as it was typed
    if len(named) < count:
        missing = min(set(range(1, count + 1)) - set(named))
        raise ExpressionError(f"x{missing} is missing: number the directions from x1 on, without gaps", text)
    if count == 1 and not kinks:
        return as_function(re.sub(r"\bx1\b", "x", text))
    return JointFormula(tree, compact(text), count, kinks)


def as_hyperplanes(kinks: Iterable[Any]) -> tuple[Hyperplane, ...]:
    try:
        return tuple((tuple(floats("kinks", np.ravel(n)).tolist()), floats("kinks", c).item()) for n, c in kinks)
    except (TypeError, ValueError):
        raise ParameterError(
            f"kinks = {kinks!r} must be pairs (normal, offset), such as ((1, 0), 0.5) for x1 = 0.5"
        ) from None


def _checked_kinks(kinks: Iterable[Hyperplane], directions: int) -> tuple[Hyperplane, ...]:
    for normal, offset in kinks:
        if len(normal) != directions or not np.any(normal) or not np.isfinite([*normal, offset]).all():
            raise ParameterError(
                f"kink ({normal}, {offset:g}): its normal must have {directions} finite components, not all 0"
            )
    return distinct(kinks)


def _check_count(directions: int) -> None:
    if directions > MAX_DIRECTIONS:
        raise ParameterError(f"{directions} directions are too many; the theory covers up to {MAX_DIRECTIONS}")


def _arguments(function: Callable[..., Any], directions: int) -> int:
    """The number of directions of a callable; its signature must agree with what was said."""
    if isinstance(function, np.ufunc):
        needed, most = function.nin, function.nin
    else:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return directions
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        needed = sum(p.default is p.empty for p in positional)
        most = 10**6 if any(p.kind == p.VAR_POSITIONAL for p in parameters) else len(positional)
    if directions == 1 and needed > 1:
        return needed
    if not needed <= directions <= most:
        name = getattr(function, "__name__", "the function")
        raise ParameterError(f"directions = {directions}, and {name} takes {needed} argument(s)")
    return directions


def _check(f: Joint) -> None:
    """Refuse what is not finite, or has a direction that nothing depends on."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(f.directions, _TRIALS))
    z[:, ::4] *= 3.0
    values = np.asarray(f(*z), float)
    if values.shape != (_TRIALS,):
        raise ParameterError(f"target {f.name!r} must act element by element")
    if not np.isfinite(values).all():
        at = ", ".join(f"{x:.3g}" for x in z[:, ~np.isfinite(values)][:, 0])
        raise ParameterError(f"target {f.name!r} is not finite at z = ({at}); it must be everywhere")
    for j in range(f.directions):
        other = np.asarray(f(*z[:j], rng.normal(size=_TRIALS), *z[j + 1 :]))
        if not np.any(np.abs(other - values) > 1e-13 * (1.0 + np.abs(values) + np.abs(other))):
            raise ParameterError(f"target {f.name!r} does not depend on x{j + 1}; leave that direction out")
