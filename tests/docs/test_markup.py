"""Docstrings and pages have no broken markup: what a reader would see as a stray backtick, asterisk or warning."""

from __future__ import annotations

import html
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import giantstep as gs
from giantstep.sklearn import OneStepClassifier, OneStepRegressor

DOCS = Path(__file__).parents[2] / "docs"
NAMED = [getattr(gs, name) for name in gs.__all__ if name != "__version__"]
PUBLIC = [*NAMED, OneStepRegressor, OneStepClassifier]


def docstrings(thing) -> Iterator[str]:
    yield inspect.getdoc(thing) or ""
    if isinstance(thing, type):
        for name in vars(thing):
            if not name.startswith("_") and callable(member := getattr(thing, name)):
                yield inspect.getdoc(member) or ""


def broken_literals(text: str) -> list[str]:
    """Backticks that reStructuredText does not read as a pair: unpaired, or with a letter right before or behind."""
    text = re.sub(r"``.*?``|:\w+:`[^`]*`", "", text)
    text = re.sub(r"^ *(>>>|\.\.\.).*$", "", text, flags=re.MULTILINE)
    broken = []
    for paragraph in re.split(r"\n\s*\n", text):
        parts = paragraph.split("`")
        if len(parts) % 2 == 0:
            broken.append(paragraph)
            continue
        for before, inside, behind in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
            if re.match(r"\w", behind) or re.search(r"[\w^]\Z", before) or inside != inside.strip():
                broken.append(f"{before[-20:]}`{inside}`{behind[:20]}")
    return broken


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_literals_in_docstrings_are_closed_and_stand_alone(thing):
    assert [part for text in docstrings(thing) for part in broken_literals(text)] == []


def test_broken_literals_are_noticed():
    assert broken_literals("A list of `Step`s is a schedule")
    assert broken_literals("eigenvalue^`source` is large")
    assert broken_literals("one `open end")
    assert not broken_literals("`eta`·d samples, :math:`x^2` and ``code``")


def visible_text(page: str) -> str:
    """The words of a built page, without code, mathematics and navigation."""
    body = re.search(r"<article.*?</article>", page, re.DOTALL)
    text = re.sub(r"<(pre|script|style)\b.*?</\1>", " ", body.group() if body else page, flags=re.DOTALL)
    text = re.sub(r'<(span|div) class="(notranslate )?math.*?</\1>', " ", text, flags=re.DOTALL)
    spoilt = [code for code in re.findall(r"<code.*?</code>", text, re.DOTALL) if "`" in code]
    text = re.sub(r"<code.*?</code>", " ", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", " ".join([text, *spoilt])))


def spoilt(page: str) -> list[str]:
    """What a reader should not see: markup that was not read, warnings of programs, paths of a machine."""
    blocks = " ".join(re.findall(r"<pre.*?</pre>", page, re.DOTALL))
    return re.findall(r"\\\||ipykernel\S*", blocks) + re.findall(
        r"`|\*\*|(?<![\w*])\*\w+\*|\w*Warning: .*|/tmp/\S*|/home/\S*|ipykernel\S*", visible_text(page)
    )


def test_spoilt_pages_are_noticed():
    assert spoilt("<p>A list of `Step`s</p>") == ["`", "`"]
    assert spoilt("<p>/tmp/ipykernel_12/3.py:1: LimitWarning: too far</p>")
    assert spoilt("<pre>/tmp/ipykernel_12/3.py:1: LimitWarning: too far</pre>")
    assert spoilt("<p>σ* and a*b, <code>`</code></p>") == ["`"]
    assert spoilt("<p>σ* and a*b, <code>x**2</code></p>") == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_without_broken_markup(tmp_path):
    pytest.importorskip("myst_nb", reason="the extra [docs] is not installed")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-4000:]
    pages = {path: spoilt(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("*.html")}
    assert len(pages) > 40
    assert {str(path): found for path, found in pages.items() if found} == {}
