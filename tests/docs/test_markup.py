"""The site has no broken markup, its docstrings included: no stray backtick, asterisk or warning."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


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
