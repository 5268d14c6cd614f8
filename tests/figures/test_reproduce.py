"""Files: what is written, what is used again, and what is not."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

import giantstep as gs
from giantstep.answers.comparison import of_the_limit
from giantstep.cli import main
from giantstep.errors import ParameterError
from giantstep.figures import reproduce
from giantstep.figures.cached_call import CachedCall, Machine
from giantstep.figures.report import Score, table

SRF = gs.SpikedRF("tanh", r=0.9, gamma=1.0)
RUN = CachedCall(
    "simulate", SRF, ("sin",), {"alpha": [0.5, 1.0], "lam": 0.1, "d": 20, "trials": 3, "seed": 4}
)
CURVE = CachedCall("predict", SRF, ("sin",), {"alpha": [0.5, 1.0], "lam": 0.1})


def test_a_figure_has_data_pictures_and_a_page(tmp_path):
    (made,) = reproduce(["basis"], size="tiny", out=tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"basis.tanh.nc", "basis.sin.nc", "basis.pdf", "basis.png", "index.html", "scores.csv"}
    page = (tmp_path / "index.html").read_text()
    for words in (
        "basis.png",
        "The basis functions",
        "gs.coefficients(gs.SpikedRF(&#x27;sin&#x27;",
        made.date,
    ):
        assert words in page
    assert made.calls["sin"].startswith("gs.coefficients(gs.SpikedRF('sin', r=[0, 0.5, 1, 2, 4]")


def test_the_page_has_the_scores_and_a_second_call_computes_nothing(tmp_path):
    (first,) = reproduce(["letters"], size="tiny", out=tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.nc")}
    (second,) = reproduce(["6"], size="tiny", out=tmp_path)
    assert before == {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.nc")}
    assert second.scores == first.scores
    assert second.data_seconds == first.data_seconds
    page = (tmp_path / "index.html").read_text()
    for line in first.scores:
        assert f"{line.worst:+.2f}" in page
    assert "d = 60, 4 trials" in page
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["worst z"]) for row in rows] == [round(line.worst, 2) for line in first.scores]


def test_data_of_another_call_or_a_damaged_file_is_computed_again(tmp_path):
    path = tmp_path / "part.nc"
    first = CURVE.obtain(path)
    other = CachedCall("predict", SRF, ("sin",), {"alpha": [0.5, 1.0], "lam": 0.2})
    assert not np.allclose(other.obtain(path)["test_error"], first["test_error"])
    path.write_bytes(b"not a file of data")
    np.testing.assert_array_equal(CURVE.obtain(path)["test_error"], first["test_error"])


def test_a_simulation_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path, asked = tmp_path / "run.nc", []
    whole = RUN.compute()
    compute = CachedCall.compute

    def stopping(self, on, trials):
        asked.append(list(trials))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return compute(self, on, trials)

    monkeypatch.setattr(CachedCall, "compute", stopping)
    with pytest.raises(KeyboardInterrupt):
        RUN.obtain(path)
    found = RUN.obtain(path)
    assert asked == [[0], [1], [1], [2]]
    np.testing.assert_array_equal(found["test_error"], whole["test_error"])
    assert found.attrs["seed"] == 4
    fewer = CachedCall("simulate", SRF, ("sin",), {**RUN.options, "trials": 2})
    assert fewer.obtain(path).sizes["trial"] == 2
    assert len(asked) == 4  # the file had them


def test_processes_give_the_numbers_that_one_process_gives(tmp_path):
    from giantstep.figures.cached_call import machine

    with machine(workers=2) as on:
        assert on.workers == 2
        found = RUN.obtain(tmp_path / "run.nc", on)
    np.testing.assert_array_equal(found["test_error"], RUN.compute()["test_error"])
    with machine(workers=1) as alone:
        assert alone == Machine()


def test_unknown_sizes_and_figures_are_refused_before_anything_is_written(tmp_path):
    for names, size, words in ((["basis"], "huge", "size = 'huge'"), (["basics"], "tiny", "figure 'basics'")):
        with pytest.raises(ParameterError, match=words):
            reproduce(names, size=size, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_commands_list_draw_and_refuse(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return (ended.value.code, *capsys.readouterr())  # type: ignore[return-value]

    status, listed, _ = run("figure")
    assert status == 0
    assert [line.split()[:2] for line in listed.splitlines()[:2]] == [
        ["1", "learned-function"],
        ["2", "trained-network"],
    ]
    status, printed, _ = run("figure", "7", "--out", "here", "--workers", "1")
    assert status == 0
    assert printed.startswith("basis: ")
    assert (tmp_path / "here" / "basis.pdf").read_bytes().startswith(b"%PDF")
    assert not (tmp_path / "here" / "index.html").exists()
    status, printed, said = run("reproduce", "--quick", "--full")
    assert (status, printed) == (2, "")
    assert "exclude each other" in said
    assert run("figure", "nonsense")[2].startswith("error: figure 'nonsense' is unknown")


def test_scores_say_which_quantities_are_compared_with_the_limit():
    """Alignments have no correction for d; errors have."""
    line = Score("tanh", "gamma", points=4, trials=5, rms=1.0, worst=2.0)
    words = "gamma is compared with the limit d = inf: part of its z is due to the finite d"
    assert table([line]).endswith(f"\n{words}")
    assert "limit" not in table([replace(line, quantity="test_error")])


def test_comparisons_say_which_statistics_are_compared_with_the_limit():
    assert of_the_limit(["test_error", "gamma", "r", "c"]) == (
        "c, r and gamma are compared with the limit d = inf: part of their z is due to the finite d"
    )
    assert of_the_limit(["test_error", "psi"]) == ""


def test_z_scores_are_expected_to_scatter_like_students_distribution():
    from scipy.stats import t

    assert Score("a theory", "test_error", 1, 10, 0.0, 0.0).expected == pytest.approx(t(9).std())
