"""The documentation speaks of what exists: public names, modules, tests, files, options."""

import importlib
import re
from pathlib import Path

import attrs
import pytest

import giantstep as gs
from giantstep.theory.status import FAILED, SENTENCES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "_data"} & set(path.parts))
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
}


def page_id(path: Path) -> str:
    return str(path.relative_to(DOCS))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def title_of(path: Path) -> str:
    return re.search(r"^# (.+)$", text_of(path), re.MULTILINE).group(1)


def test_the_api_reference_has_a_page_for_every_public_name_and_for_nothing_else():
    named = re.findall(r"^   (\w+)$", text_of(DOCS / "api.md"), flags=re.MULTILINE)
    estimators = ["OneStepRegressor", "OneStepClassifier"]
    assert sorted(named) == sorted({*gs.__all__, *estimators} - {"__version__"})


def exists(dotted: str) -> bool:
    """Whether giantstep.a.b is a module, or a name in one."""
    owner, _, attribute = dotted.rpartition(".")
    try:
        importlib.import_module(dotted)
    except ModuleNotFoundError:
        return hasattr(importlib.import_module(owner), attribute)
    return True


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_what_a_page_speaks_of_exists(path):
    """Names of the package, tests, files and scripts; it runs nothing that it does not show, and is in the contents."""
    text = text_of(path)
    assert [name for name in re.findall(r"`(giantstep(?:\.\w+)+)`", text) if not exists(name)] == []
    assert set(re.findall(r"`(test_\w+)`", text)) - {"test_error", "test_error_01"} <= TESTS
    links = re.findall(r"\]\(((?!https?:|#)[^)\s]+)\)", text)
    assert [link for link in links if not (path.parent / link.partition("#")[0]).exists()] == []
    scripts = re.findall(r"\b((?:benchmarks|docs|examples)/\w+\.(?:py|toml))\b", text)
    assert [script for script in scripts if not (ROOT / script).exists()] == []
    assert "remove-cell" not in text  # a reader who types what is shown would lack it
    listed = re.findall(r"^([\w/-]+)$", text_of(DOCS / "index.md"), flags=re.MULTILINE)
    assert page_id(path).removesuffix(".md") in ["index", *listed]


def test_the_page_that_an_error_leads_to_exists():
    titles = {title_of(path) for path in PAGES if "# " in text_of(path)}
    importlib.import_module("giantstep.sweep")  # the uppermost layer that has errors of its own
    kinds = [gs.GiantstepError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    named = {kind.page for kind in kinds} - {None}
    assert len(named) >= 4
    assert named <= titles
    with pytest.raises(gs.ExpressionError) as caught:
        gs.Target("tanh(")
    assert caught.value.__notes__ == [f"(the documentation has a page on this: {gs.ExpressionError.page})"]


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"reuse_batch": True}, {}),
        ({"refit": 1}, {}),
        ({"readout": "gaussian"}, {}),  # spikes in more than four directions
        ({"activation": "sign"}, {}),
        ({}, {"loss": "logistic"}),  # on real labels
        ({}, {"loss": "huber:1", "lam": 0}),
    ],
)
def test_what_is_not_covered_is_refused_and_leads_to_the_page_that_lists_it(changes, options):
    net = attrs.evolve(gs.Network("relu", eta=1, alpha0=1, steps=2), **changes)
    with pytest.raises(gs.ParameterError) as refused:
        gs.predict(net, "sin", **{"alpha": 1, "lam": 0.1} | options)
    assert refused.value.__notes__ == [f"(the documentation has a page on this: {title_of(DOCS / 'faq.md')})"]


def test_the_page_on_convergence_lists_every_code_and_whether_it_is_a_failure():
    rows = re.findall(r"^\| (\d+) \| .+ \| (true|false) \|$", text_of(DOCS / "guides" / "debug.md"), re.MULTILINE)
    assert rows == [(str(code), str(not FAILED[code]).lower()) for code in range(len(SENTENCES))]
