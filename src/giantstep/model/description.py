"""What models, steps and targets share: a dictionary form, equality by value, how they are shown.

Every numeric parameter takes a number, a 1-D sequence (which opens a grid dimension of that name), or an
`xarray.DataArray` (whose dimensions are its own, so that two of them can be zipped).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from ..errors import ParameterError
from ..functions import Function
from ..letters import Letters
from ..losses import Loss
from ..words import spoken, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    Parameter: TypeAlias = float | Sequence[float] | np.ndarray | xr.DataArray
    FunctionLike: TypeAlias = str | Callable[[Any], Any] | Function

_kinds: dict[str, type[Description]] = {}  # by name, as dictionaries say it
# parameters that are written down only where they are used
_LATER = ("steps", "rows", "bias_scale", "reuse_batch", "refit", "directions", "kinks")


class Description:
    """What models and targets share: a dictionary form for provenance, links and sweeps, and equality by value."""

    __dataclass_fields__: ClassVar[dict[str, Any]]  # every kind is a dataclass
    # methods and properties for users, beside what they have given
    _questions: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        _kinds[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """This description as plain, JSON-ready data. A function of your own has no such form: an error.

        Returns
        -------
        dict
            What `from_dict` reads.

        Examples
        --------
        >>> gs.Step(eta=1, alpha0=2).to_dict()
        {'kind': 'Step', 'eta': 1.0, 'alpha0': 2.0, 'loss': 'square'}
        """
        return self._plain(_spec)

    def to_read(self) -> dict[str, Any]:
        """The same for readers, from which nothing is made again: functions and losses of a user's own are named."""
        return self._plain(_spec_or_name)

    def _plain(self, text: Callable[[Function | Loss], str]) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": type(self).__name__}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name not in _LATER or _hashable(value) != f.default:
                data[f.name] = _plain(value, text)
        return data

    def __repr__(self) -> str:
        return spoken(self)

    def _repr_html_(self) -> str:
        return table(self)

    def __dir__(self) -> list[str]:
        """What tab completion offers: what a user gives and asks, not what other modules ask."""
        offered = {"to_dict", "from_dict", *self._questions, *(f.name for f in fields(self))}
        return [name for name in super().__dir__() if name in offered or name.startswith("__")]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return tuple(_hashable(getattr(self, f.name)) for f in fields(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The description that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            Plain data, such as a JSON file holds.

        Examples
        --------
        >>> gs.Step.from_dict({"kind": "Step", "eta": 1, "alpha0": 2})
        Step(1, alpha0=2)
        """
        kind = _kinds.get(data.get("kind", cls.__name__))
        if kind is None or not is_dataclass(kind) or not issubclass(kind, cls):
            raise ParameterError(f"kind = {data.get('kind')!r} is not a {cls.__name__}")
        known = {f.name for f in fields(kind)}
        unknown = set(data) - known - {"kind"}
        if unknown:
            raise ParameterError(
                f"{kind.__name__} has no parameter {sorted(unknown)}; it has {sorted(known)}"
            )
        values = {name: value for name, value in data.items() if name != "kind"}
        if isinstance(values.get("readout"), dict):
            values["readout"] = Letters.from_dict(values["readout"])
        return kind(**{name: _restored(value) for name, value in values.items()})


def _spec(own: Function | Loss) -> str:
    return own.spec


def _spec_or_name(own: Function | Loss) -> str:
    try:
        return own.spec
    except ParameterError:
        return f"<{own.name}>"  # no name of the catalogue's begins like this


def _plain(value: Any, text: Callable[[Function | Loss], str]) -> Any:
    if isinstance(value, Function | Loss):
        return text(value)
    if isinstance(value, Description):
        return value._plain(text)
    if isinstance(value, Letters):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(one, text) for one in value] if value and isinstance(value[0], Description) else value
    if type(value).__name__ == "DataArray":
        return {"dims": list(value.dims), "data": np.asarray(value).tolist()}
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"dims", "data"}:
        import xarray as xr

        return xr.DataArray(value["data"], dims=value["dims"])
    return value


def _hashable(value: Any) -> Any:
    """A value as something that compares and hashes by content."""
    if isinstance(value, np.ndarray):
        return (value.shape, tuple(value.ravel().tolist()))
    if type(value).__name__ == "DataArray":
        return (tuple(value.dims), _hashable(np.asarray(value)))
    return value
