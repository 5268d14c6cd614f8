"""What models, steps and targets share: how they are made from the table of parameters, a dictionary form, equality by
value, how they are shown; and what every model answers.

Every numeric parameter takes a number, a 1-D sequence (which opens a grid dimension of that name), or an
`xarray.DataArray` (whose dimensions are its own, so that two of them can be zipped).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from html import escape
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, dataclass_transform

import attrs
import numpy as np

from ..errors import ParameterError, named, refused, shown
from ..functions import Function
from .checks import allow, written
from .parameters import PARAMETERS, checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    from .letters import Letters

    Parameter: TypeAlias = float | Sequence[float] | np.ndarray | xr.DataArray
    FunctionLike: TypeAlias = str | Callable[[Any], Any] | Function

Class = TypeVar("Class", bound=type)
DEFAULT: Any = object()  # the default that the table of parameters has
_kinds: dict[str, type[Description]] = {}  # by name, as dictionaries say it
_LONG = 12  # numbers of a list that are written out
_LATE = {name for name, row in PARAMETERS.items() if row.late}  # left out of dictionaries at their defaults


@dataclass_transform(frozen_default=True, field_specifiers=(attrs.field,))
def description(cls: Class) -> Class:
    """Make a class with fields a frozen description.

    A field that is a row in the table of parameters is checked against that row, unless it has a converter of its own;
    `DEFAULT` stands for the row's default.
    """
    return attrs.define(frozen=True, slots=False, repr=False, field_transformer=_from_table)(cls)


def _from_table(cls: type, fields: list[Any]) -> list[Any]:
    """Fields with defaults and checks from the table of parameters. Fields that are computed do not count as values."""
    described = []
    for field in fields:
        default = PARAMETERS[field.name].default if field.default is DEFAULT else field.default
        check = _converter(field, default) if field.converter or field.name in PARAMETERS else None
        described.append(field.evolve(default=default, converter=check, eq=field.init, eq_key=_by_value))
    return described


def _converter(field: Any, default: Any) -> Callable[[Any], Any]:
    """The converter of a field: from a user's value to the checked one. Its errors name the field."""

    def converted(value: Any) -> Any:
        if value is default and not isinstance(value, str):  # a text may be the name of something
            return value
        with named(field.name):
            return field.converter(value) if field.converter else checked(field.name, value)

    converted.__annotations__["value"] = field.type  # as the signature shows it
    return converted


class Description:
    """What models and targets share: a dictionary form for provenance, links and sweeps, and how they are shown."""

    def __init_subclass__(cls) -> None:
        _kinds[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """This description as plain, JSON-ready data. Your own Python functions have no such form and raise an error.

        Returns
        -------
        dict
            What `from_dict` reads.

        Examples
        --------
        >>> gs.Step(eta=1, alpha0=2).to_dict()
        {'kind': 'Step', 'eta': 1.0, 'alpha0': 2.0, 'loss': 'square'}
        """
        return _plain(self, lambda part: part.spec)

    def to_read(self) -> dict[str, Any]:
        """As `to_dict`, for people to read: functions and losses of a user's own appear by name."""
        return _plain(self, _spec_or_name)

    def _as_data(self, text: Callable[[Any], str]) -> dict[str, Any]:
        """Its kind and its parts as plain data; `text` says of a function what is kept of it."""
        return {"kind": type(self).__name__} | {
            field.name: _plain(getattr(self, field.name), text)
            for field in attrs.fields(type(self))  # type: ignore[arg-type]
            if field.init and not (field.name in _LATE and _by_value(getattr(self, field.name)) == field.default)
        }

    def __repr__(self) -> str:
        texts = ["=".join(one) for one in stated(self)]
        texts[:1] = [text.partition("=")[2] for text in texts[:1]]
        return f"{type(self).__name__}({', '.join(texts)})"

    def _repr_html_(self) -> str:
        """A table with the meaning of each number, for notebooks."""
        rows = [
            f"<tr><th><code>{name}</code></th><td><code>{escape(text)}</code></td>"
            f"<td>{escape(PARAMETERS[name].words if name in PARAMETERS else '')}</td></tr>"
            for name, text in stated(self)
        ]
        caption = f"<caption>{type(self).__name__}</caption>"
        return f'<table style="text-align: left">{caption}{"".join(rows)}</table>'

    def numbers(self) -> dict[str, Any]:
        """The numeric parameters by name, each of which may open a grid dimension, in the order of their table."""
        names = [name for name, row in PARAMETERS.items() if row.kind == "grid" and row.of]
        values = {name: getattr(self, name, None) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def __dir__(self) -> list[str]:
        """The names that tab completion offers: arguments, and what is documented with an example."""
        kind, arguments = type(self), signature(type(self)).parameters
        documented = [name for name in dir(kind) if "Examples" in (getattr(kind, name).__doc__ or "")]
        return [name for name in super().__dir__() if name.startswith("__") or name in {*arguments, *documented}]

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
        raise refused(
            "data", data, f"has {shown(unknown[0])}, which {kind.__name__} has not; it has {', '.join(known)}"
        )
    missing = [name for name, one in known.items() if one.default is one.empty and name not in parts]
    if missing:
        raise refused("data", data, f"has no {missing[0]}, which {kind.__name__} needs")
    return parts


def _spec_or_name(part: Any) -> str:
    try:
        return part.spec
    except ParameterError:
        return f"<{part.name}>"  # no name of the catalogue's begins like this


def _plain(value: Any, text: Callable[[Any], str]) -> Any:
    """A value as JSON has it; what has a `spec`, such as a function, by its text."""
    if hasattr(type(value), "spec"):
        return text(value)
    if isinstance(value, Description):
        return value._as_data(text)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if type(value).__name__ == "DataArray":
        return {"dims": list(value.dims), "data": np.asarray(value).tolist()}
    return [_plain(one, text) for one in value] if isinstance(value, tuple) else value


def _restored(value: Any) -> Any:
    """The value of which `_plain` made this."""
    if not isinstance(value, dict):
        return list(map(_restored, value)) if isinstance(value, list) else value
    if set(value) == {"dims", "data"}:
        import xarray as xr

        return xr.DataArray(value["data"], dims=value["dims"])
    return Description.from_dict({"kind": "Letters"} | value)  # the only ones that do not say so


def _by_value(value: Any) -> Any:
    """A value as something that compares and hashes by content."""
    if isinstance(value, np.ndarray):
        return (value.shape, (value + 0.0).tobytes())  # -0 + 0 is 0
    if type(value).__name__ == "DataArray":
        return (tuple(value.dims), _by_value(np.asarray(value)))
    return tuple(map(_by_value, value)) if isinstance(value, tuple) else value


def stated(described: Any) -> Iterator[tuple[str, str]]:
    """Name and Python text of every argument that is not at its default."""
    for argument in signature(type(described)).parameters.values():
        text = _as_python(getattr(described, argument.name))
        if argument.default is argument.empty or text != _as_python(argument.default):
            yield argument.name, text


def _as_python(value: Any) -> str:
    """A value as Python text; long lists by their ends, with four digits; a user's own functions and data by name."""
    if hasattr(type(value), "spec"):
        text = _spec_or_name(value)
        return text if text.startswith("<") else repr(text)
    if getattr(value, "uniform", False):  # letters, of which this name is the default
        return repr("uniform")
    if isinstance(value, float):
        return written(value)
    if type(value).__name__ == "DataArray":
        return f"<DataArray {dict(value.sizes)}>"
    if isinstance(value, np.ndarray | tuple):
        parts = value.tolist() if isinstance(value, np.ndarray) else value
        texts = [_as_python(part) for part in parts]
        if len(parts) > _LONG and isinstance(parts[0], float):
            texts = [f"{parts[0]:.4g}", f"{parts[1]:.4g}", "...", f"{parts[-1]:.4g}"]
        return f"[{', '.join(texts)}]"
    return repr(value)


class Model(Description):
    """A first layer to put a readout on: a trained network, or spiked random features."""

    activation: Function
    beta: Any
    readout: Letters
    group: ClassVar[str] = "letter"  # the dimension along which groups of neurons are told apart
    takes_steps: ClassVar[bool] = False  # whether gradient steps on the target made it
    most_steps: ClassVar[int] = 0  # gradient steps, the most of them on the grid that this model has or is from
    spike_directions: ClassVar[int] = 1  # how many directions the spikes of its groups may span

    @property
    def shaping(self) -> tuple[str, ...]:
        """The names of what shapes the first layer: of `numbers`, or of the target's; all but the width by default."""
        return tuple(name for name in self.numbers() if name != "beta")

    def moved(self, **numbers: Any) -> Any:
        """A copy with other numbers, or grids of numbers."""
        return attrs.evolve(self, **numbers)  # type: ignore[type-var]

    def at(self, **numbers: float) -> Any:
        """The copy at one point of the grid: it keeps the grid's largest number of steps."""
        return with_values(self.moved(**numbers), most_steps=self.most_steps)

    def resolved(self) -> Model:
        """The simplest description of the same first layer."""
        return self


def with_values(described: Any, **values: Any) -> Any:
    """A copy with other values, without checks."""
    changed = copy(described)
    changed.__dict__.update(values)
    return changed


check_model = allow(lambda value: isinstance(value, Model), "is neither a Network nor a SpikedRF (nor a TwoSpikes)")
