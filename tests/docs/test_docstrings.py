"""Every public name says what it takes and shows how it is used, and its examples do what they say."""

import doctest
import inspect
import re
from collections.abc import Iterator

import numpy as np
import pytest

import giantstep as gs

METHODS = {
    f"{kind}.{name}": getattr(getattr(gs, kind), name)
    for kind in ("Network", "TwoSpikes", "Letters", "Inputs", "Target")
    for name in dir(getattr(gs, kind))
}
CALLED = {name: getattr(gs, name) for name in gs.__all__ if name != "__version__"} | {
    name: thing  # documented with an example, as tab completion offers it
    for name, thing in METHODS.items()
    if "Examples" in (thing.__doc__ or "")
}


def section(text: str, title: str) -> str:
    """What stands below a heading of numpydoc, up to the next one."""
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+$|\Z)", text, re.MULTILINE | re.DOTALL)
    return match.group(1) if match else ""


def described(text: str) -> Iterator[str]:
    """The names of a section's entries."""
    for line in section(text, "Parameters").splitlines():
        if line and not line.startswith(" "):
            yield from re.split(r",\s*", line.partition(" :")[0])


@pytest.mark.parametrize("name", CALLED)
def test_every_parameter_is_described_under_its_own_name(name: str) -> None:
    thing = CALLED[name]
    if isinstance(thing, property) or (isinstance(thing, type) and issubclass(thing, Exception)):
        return  # asked or raised, not called, by users
    taken = [parameter for parameter in inspect.signature(thing).parameters if parameter != "self"]
    assert sorted(described(inspect.getdoc(thing) or "")) == sorted(taken)


@pytest.mark.parametrize("name", CALLED)
def test_every_example_does_what_it_says(name: str) -> None:
    text = inspect.getdoc(CALLED[name]) or ""
    assert ">>> " in section(text, "Examples")
    examples = doctest.DocTestParser().get_doctest(text, {"gs": gs, "np": np}, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
    told: list[str] = []
    assert runner.run(examples, out=told.append).failed == 0, "".join(told)
