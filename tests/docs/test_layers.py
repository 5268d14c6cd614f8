"""The layer table of the architecture page is true: imports go one way."""

import ast
import re
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "giantstep"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SURFACE = ("__init__", "__main__")  # public names, which are looked up when asked for, and the way into the command


def rows(heading: str) -> list[str]:
    """The rows of the page's table with that heading."""
    return PAGE.partition(heading)[2].partition("\n\n")[0].splitlines()[2:]


PLACE = {  # of each module or package of giantstep in the table, from the top
    name: place
    for place, row in enumerate(rows("| layer | what is in it |"))
    for name in re.findall(r"`(\w+)`", row.split("|")[1])
}
LAZY = {  # (module, lower layer) of the lazy imports that the page lists
    (names[0].removeprefix("giantstep."), names[-1].removeprefix("giantstep."))
    for names in (re.findall(r"`([\w.]+)`", row) for row in rows("| method | imports from |"))
}


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Names at the top of the package that a file imports, each with "on import", "lazily" or "for types"."""
    package = ".".join(path.relative_to(SOURCE.parent).parent.parts)
    when: dict[ast.AST, str] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):  # what is around comes before what is in it
        of_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        now = "for types" if of_types else "lazily" if lazy else when.get(node, "on import")
        when |= dict.fromkeys(ast.iter_child_nodes(node), now)
        if isinstance(node, ast.Import | ast.ImportFrom):
            said = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                module = resolve_name("." * node.level + (node.module or ""), package)
                said = [f"{module}.{name}" for name in said]
            yield from ((name.split(".")[1], now) for name in said if name.startswith("giantstep."))


def home(path: Path) -> str:
    """The module or package at the top to which a file belongs."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


IMPORTS = {path: set(imports(path)) for path in sorted(SOURCE.rglob("*.py"))}
LAYERED = [path for path in IMPORTS if home(path) not in SURFACE]


def lower(path: Path, when: str) -> set[str]:
    """Layers below a file's own that it imports."""
    return {name for name, at in IMPORTS[path] if at == when and PLACE.get(name, -1) > PLACE[home(path)]}


def test_the_table_names_every_module_and_nothing_else():
    assert set(PLACE) == {home(path) for path in LAYERED}


def test_a_module_imports_only_its_own_and_upper_layers():
    assert {path: names for path in LAYERED if (names := lower(path, "on import"))} == {}


def test_lazy_imports_of_lower_layers_are_those_that_the_page_lists():
    found = set()
    for path in LAYERED:
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found |= {(module, name) for name in lower(path, "lazily")}
    assert found == LAZY


def test_theory_and_simulation_know_nothing_of_each_other():
    other = {"theory": "simulation", "simulation": "theory"}
    for path, found in IMPORTS.items():
        assert other.get(home(path)) not in {name for name, _ in found}, path
