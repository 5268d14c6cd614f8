"""The layer table of the architecture page is true: imports go one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "giantstep"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SURFACE = (
    "__init__",
    "__main__",
)  # public names, which are looked up when asked for, and the way into the command


def layers() -> dict[str, int]:
    """Place of each module or package of giantstep in the table, from the top."""
    table = PAGE.partition("| layer | what is in it |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    return {name: place for place, row in enumerate(rows) for name in re.findall(r"`(\w+)`", row)}


def lazy_imports() -> set[tuple[str, str]]:
    """(module, lower layer) of the lazy imports that the page lists."""
    table = PAGE.partition("| method | imports from |")[2].partition("\n\n")[0]
    found = [re.findall(r"`([\w.]+)`", line) for line in table.splitlines()[2:]]
    return {(names[0].removeprefix("giantstep."), names[-1].removeprefix("giantstep.")) for names in found}


def imported(path: Path, nodes: list[ast.AST]) -> Iterator[str]:
    """Names at the top of the package that these import statements reach."""
    package = path.relative_to(SOURCE).parent.parts
    for node in nodes:
        if isinstance(node, ast.Import):
            dotted = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ("giantstep", *package)[: len(package) + 2 - node.level] if node.level else ()
            whole = [*base, *(node.module.split(".") if node.module else [])]
            dotted = [whole] if len(whole) > 1 else [[*whole, alias.name] for alias in node.names]
        else:
            continue
        for words in dotted:
            if words[0] == "giantstep" and len(words) > 1:
                yield words[1]


def at_module_level(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Statements that run on import, those for the type checker left out."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from at_module_level(node.orelse)
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from at_module_level(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from at_module_level(handler.body)


def inside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ast.walk(node)


def home(path: Path) -> str:
    """The module or package at the top to which a file belongs."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
LAYERED = [path for path in TREES if home(path) not in SURFACE]


def lower(path: Path, nodes: list[ast.AST]) -> set[str]:
    """Layers below a file's own that these statements import."""
    place = layers()
    return {name for name in imported(path, nodes) if place.get(name, -1) > place[home(path)]}


def test_the_table_names_every_module_and_nothing_else():
    assert set(layers()) == {home(path) for path in LAYERED}


def test_a_module_imports_only_its_own_and_upper_layers():
    for path in LAYERED:
        assert not lower(path, list(at_module_level(TREES[path].body))), path


def test_lazy_imports_of_lower_layers_are_those_that_the_page_lists():
    found = set()
    for path in LAYERED:
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found |= {(module, name) for name in lower(path, list(inside_functions(TREES[path])))}
    assert found == lazy_imports()


def test_theory_and_simulation_know_nothing_of_each_other():
    other = {"theory": "simulation", "simulation": "theory"}
    for path, tree in TREES.items():
        assert other.get(home(path)) not in set(imported(path, list(ast.walk(tree)))), path
