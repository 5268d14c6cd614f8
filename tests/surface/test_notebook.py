"""In a notebook: a bar for what takes long, and short errors."""

from types import SimpleNamespace

import pytest

import giantstep as gs
from giantstep.runtime import progress

pytest.importorskip("IPython", reason="IPython is not installed")


@pytest.fixture
def shown(monkeypatch) -> list[str]:
    """What a notebook would display, in order."""
    import IPython.display

    texts: list[str] = []
    handle = SimpleNamespace(update=lambda data, raw: texts.append(data["text/html"]))
    monkeypatch.setattr(IPython.display, "display", lambda data, display_id, raw: handle)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    return texts


NET = gs.Network("tanh", eta=1, alpha0=1)


def test_long_work_shows_a_bar_unasked_and_takes_it_away(shown, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    gs.simulate(NET, "sin", alpha=1, lam=0.1, d=20, trials=3)
    assert "trials <progress" in shown[0]
    assert " of 3 done" in shown[0]
    assert shown[-1] == ""
    shown.clear()
    gs.tune(NET, "sin", alpha=1, bulk="isotropic")
    assert any("tuning <progress" in text for text in shown)
    assert shown[-1] == ""
    assert shown.count("") == 1  # the verbs that tune calls show nothing of their own


def test_quick_work_and_an_own_report_show_no_bar(shown, monkeypatch):
    gs.predict(NET, "sin", alpha=[1, 2], lam=0.1)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    gs.predict(NET, "sin", alpha=[1, 2], lam=0.1, progress=[].append)
    assert shown == []


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            "gs.predict(gs.Network('sign', 1, 1), 'sin', 1, 1)",
            ["gs.Network('sign'", "its derivative is not a function"],
        ),
        ("gs.Target('tanh(x + )')", ["gs.Target('tanh(x + )')", "this is not an expression"]),
        (
            "gs.Target(lambda x: 1 / 0)",
            ["ZeroDivisionError: division by zero", "not accept a numpy array (division by"],
        ),
        ("raise gs.GiantstepError('no') from ZeroDivisionError()", ["ZeroDivisionError", "GiantstepError: no"]),
    ],
)
def test_errors_show_the_users_lines_the_message_and_its_cause_alone(cell, words, monkeypatch, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell(colors="nocolor")
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    shell.run_cell("import giantstep as gs")
    shell.run_cell(cell)
    text = capsys.readouterr().out
    assert [word in text for word in words] == [True] * len(words)
    assert ".py" not in text
    assert len(text.splitlines()) < 16
