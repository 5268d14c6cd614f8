"""In a notebook: a bar for what takes long, short errors, pictures and tables as the value of a cell."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs
from giantstep.runtime import progress

pytest.importorskip("IPython", reason="IPython is not installed")


@pytest.fixture
def shown(monkeypatch) -> list[str]:
    """What a notebook would display, in order."""
    import IPython.display

    texts: list[str] = []

    class Handle:
        def update(self, data, raw):
            texts.append(data["text/html"])

    monkeypatch.setattr(IPython.display, "display", lambda data, display_id, raw: Handle())
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    return texts


def test_long_work_shows_a_bar_unasked_and_takes_it_away(shown, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    net = gs.Network("tanh", eta=1, alpha0=1)
    gs.simulate(net, "sin", alpha=1, lam=0.1, d=20, trials=3)
    assert "trials <progress" in shown[0]
    assert " of 3 done" in shown[0]
    assert shown[-1] == ""
    shown.clear()
    gs.tune(net, "sin", alpha=1, bulk="isotropic")
    assert any("tuning <progress" in text for text in shown)
    assert shown[-1] == ""
    assert shown.count("") == 1  # the verbs that tune calls show nothing of their own


def test_quick_work_shows_nothing(shown, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 60.0)
    gs.predict(gs.Network("tanh", eta=1, alpha0=1), "sin", alpha=[1, 2], lam=0.1)
    gs.simulate(gs.Network("tanh", eta=1, alpha0=1), "sin", alpha=1, lam=0.1, d=10, trials=2)
    assert shown == []


def test_an_own_report_replaces_the_bar(shown, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    shares: list[float] = []
    net = gs.Network("tanh", eta=1, alpha0=1)
    gs.predict(net, "sin", alpha=[1, 2], lam=0.1, progress=shares.append)
    assert shares[-1] == 1.0
    assert shown == []


def test_errors_show_the_users_lines_and_the_message_alone(monkeypatch, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell(colors="nocolor")
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    shell.run_cell("import giantstep as gs")
    shell.run_cell("gs.predict(gs.Network('sign', eta=1, alpha0=1), 'sin', alpha=1, lam=0.1)")
    text = capsys.readouterr().out
    assert "gs.predict(gs.Network('sign'" in text
    assert "its derivative is not a function" in text
    assert ".py" not in text
    assert len(text.splitlines()) < 12


def test_the_cause_of_an_error_is_kept(monkeypatch, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell(colors="nocolor")
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    shell.run_cell(
        "import giantstep as gs\ntry:\n    1 / 0\nexcept ZeroDivisionError as cause:\n    kept = cause"
    )
    shell.run_cell("raise gs.GiantstepError('no answer') from kept")
    text = capsys.readouterr().out
    assert "ZeroDivisionError" in text
    assert "GiantstepError: no answer" in text


def test_a_picture_is_the_value_of_a_cell_as_svg():
    curve = gs.predict(gs.Network("tanh", eta=1, alpha0=1), "sin", alpha=np.linspace(1, 2, 20), lam=0.1)
    assert "<svg" in gs.plot(curve)._repr_svg_()
