"""What is packaged is what is here: one version, one list of libraries, and every file that a release needs."""

import re
import tomllib
from pathlib import Path

import pytest

import giantstep as gs

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("conda/recipe.yaml", r'^  version: "(\S+)"$'),
        ("CHANGELOG.md", r"^## \[(?:Unreleased\] )?(\d+\.\d+\.\d+)"),
        ("README.md", r"[Vv]ersion (\d+\.\d+\.\d+)"),
    ],
)
def test_every_file_that_names_the_version_names_this_one(file, pattern):
    named = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None
    assert named.group(1) == gs.__version__
    assert "version" not in PROJECT["project"]  # read from the package


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    needed = dict(line.strip("- ").split(" >=") for line in run.splitlines())
    stated = dict(entry.split(">=") for entry in PROJECT["project"]["dependencies"])
    python = {"python": PROJECT["project"]["requires-python"].removeprefix(">=")}
    assert needed == python | {CONDA_NAMES.get(name, name): least for name, least in stated.items()}


def test_the_oldest_python_and_every_system_are_tested_where_the_project_is_public():
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    tested = re.search(r'python: \[(".*")\]', workflow)
    assert tested is not None
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert re.findall(r'"([\d.]+)"', tested.group(1)) == classified
    for system in ("ubuntu", "macos", "windows"):
        assert f"{system}-latest" in workflow
