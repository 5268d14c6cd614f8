"""The layer table of the architecture page is true: imports go one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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


def reached(path: Path, node: ast.AST) -> Iterator[str]:
    """Names at the top of the package that an import statement reaches."""
    package = path.relative_to(SOURCE).parent.parts
    dotted: list[list[str]] = []
    if isinstance(node, ast.Import):
        dotted = [alias.name.split(".") for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        base = ("giantstep", *package)[: len(package) + 2 - node.level] if node.level else ()
        whole = [*base, *(node.module.split(".") if node.module else [])]
        dotted = [whole] if len(whole) > 1 else [[*whole, alias.name] for alias in node.names]
    yield from (words[1] for words in dotted if words[0] == "giantstep" and len(words) > 1)


def imports(path: Path, node: ast.AST, when: str = "on import") -> Iterator[tuple[str, str]]:
    """What a file imports from the package, and whether "on import", "lazily" or "for types"."""
    for child in ast.iter_child_nodes(node):
        yield from ((name, when) for name in reached(path, child))
        of_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        lazy = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from imports(path, child, "for types" if of_types else "lazily" if lazy else when)


def home(path: Path) -> str:
    """The module or package at the top to which a file belongs."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


IMPORTS = {
    path: set(imports(path, ast.parse(path.read_text(encoding="utf-8")))) for path in sorted(SOURCE.rglob("*.py"))
}
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
