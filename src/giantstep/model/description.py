"""What models, steps and targets share: how they are made from the table of parameters, a dictionary form, equality by
value, how they are shown.

Every numeric parameter takes a number, a 1-D sequence (which opens a grid dimension of that name), or an
`xarray.DataArray` (whose dimensions are its own, so that two of them can be zipped).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, dataclass_transform

import attrs
import numpy as np

from ..errors import ParameterError, named, refused, shown
from ..functions import Function
from ..losses import Loss
from .letters import Letters
from .parameters import PARAMETERS, checked
from .words import as_call, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    Parameter: TypeAlias = float | Sequence[float] | np.ndarray | xr.DataArray
    FunctionLike: TypeAlias = str | Callable[[Any], Any] | Function

Class = TypeVar("Class", bound=type)
DEFAULT: Any = object()  # the default that the table of parameters has
_kinds: dict[str, type[Description]] = {}  # by name, as dictionaries say it


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(attrs.field,))
def description(cls: Class) -> Class:
    """Make a class with fields a frozen description.

    A field that is a row in the table of parameters is checked against that row, unless it has a converter of its own;
    `DEFAULT` stands for the row's default.
    """
    make = attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=_from_table)
    return make(cls)


def _from_table(cls: type, fields: list[Any]) -> list[Any]:
    return [one.evolve(default=_default(one), converter=_converter(one)) for one in fields]


def _default(field: Any) -> Any:
    return PARAMETERS[field.name].default if field.default is DEFAULT else field.default


def _converter(field: Any) -> Callable[[Any], Any]:
    """What makes a field's value of what a user gives; errors name the field."""
    name, convert, default = field.name, field.converter, _default(field)

    def converted(value: Any) -> Any:
        if value is None and default is None:
            return None
        with named(name):
            return convert(value) if convert else checked(name, value)

    converted.__annotations__["value"] = field.type  # as the signature shows it
    return converted if convert or name in PARAMETERS else None  # type: ignore[return-value]


class Description:
    """What models and targets share: a dictionary form for provenance, links and sweeps, and equality by value."""

    # methods and properties for users, beside what they have given
    _questions: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        _kinds[cls.__name__] = cls

    @classmethod
    def _fields(cls) -> Any:
        return [one for one in attrs.fields(cls) if one.init]  # type: ignore[arg-type]

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
        return self._plain(lambda part: part.spec)

    def to_read(self) -> dict[str, Any]:
        """The same for readers, from which nothing is made again: functions and losses of a user's own are named."""
        return self._plain(_spec_or_name)

    def _plain(self, text: Callable[[Function | Loss], str]) -> dict[str, Any]:
        """The kind and the fields; those that joined later only where they are used, so that older forms stay."""
        data: dict[str, Any] = {"kind": type(self).__name__}
        for field in self._fields():
            value = getattr(self, field.name)
            late = field.name in PARAMETERS and PARAMETERS[field.name].late
            if not late or _hashable(value) != field.default:
                data[field.name] = _plain(value, text)
        return data

    def __repr__(self) -> str:
        return as_call(self)

    def _repr_html_(self) -> str:
        return table(self)

    def __dir__(self) -> list[str]:
        """What tab completion offers: what a user gives and asks, not what other modules ask."""
        offered = {"to_dict", "from_dict", *self._questions, *(field.name for field in self._fields())}
        return [name for name in super().__dir__() if name in offered or name.startswith("__")]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return tuple(_hashable(getattr(self, field.name)) for field in self._fields())

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
        name = data.get("kind", cls.__name__) if isinstance(data, Mapping) else cls.__name__
        kind = _kinds.get(name) if isinstance(name, str) else None
        if kind is None or not attrs.has(kind) or not issubclass(kind, cls):
            raise refused("data", data, f"has the kind {shown(name)}, which is not a {cls.__name__}")
        return kind(**{name: _restored(value) for name, value in check_data(kind, data).items()})


def check_data(kind: type, data: Any) -> dict[str, Any]:
    """The arguments of a class as plain data has them; an error if some are unknown or missing."""
    if not isinstance(data, Mapping):
        raise refused("data", data, f"is not a dictionary, such as {kind.__name__}(...).to_dict() makes")
    parts, known = {name: part for name, part in data.items() if name != "kind"}, signature(kind).parameters
    if unknown := [name for name in parts if name not in known]:
        names = ", ".join(known)
        raise refused("data", data, f"has {shown(unknown[0])}, which {kind.__name__} has not; it has {names}")
    missing = [name for name, one in known.items() if one.default is one.empty and name not in parts]
    if missing:
        raise refused("data", data, f"has no {missing[0]}, which {kind.__name__} needs")
    return parts


def _spec_or_name(part: Function | Loss) -> str:
    try:
        return part.spec
    except ParameterError:
        return f"<{part.name}>"  # no name of the catalogue's begins like this


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
    """What `_plain` wrote of descriptions, letters and DataArrays."""
    if not isinstance(value, dict):
        return value
    if set(value) == {"dims", "data"}:
        import xarray as xr

        return xr.DataArray(value["data"], dims=value["dims"])
    return Description.from_dict(value) if "kind" in value else Letters.from_dict(value)


def _hashable(value: Any) -> Any:
    """A value as something that compares and hashes by content."""
    if isinstance(value, np.ndarray):
        return (value.shape, tuple(value.ravel().tolist()))
    if type(value).__name__ == "DataArray":
        return (tuple(value.dims), _hashable(np.asarray(value)))
    return value
