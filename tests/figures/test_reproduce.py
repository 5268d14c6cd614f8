"""Files: what is written, what is used again, and what is not."""

import csv
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from scipy.stats import t

import giantstep as gs
from giantstep import load, save
from giantstep.answers.comparison import of_the_limit
from giantstep.errors import ParameterError
from giantstep.figures import NAMES, find, reproduce
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.report import scores, table

from ..surface.command import CTRL_C, giantstep

SRF = gs.SpikedRF("tanh", r=0.9, gamma=1.0)
RUN = CachedCall("simulate", SRF, ("sin",), {"alpha": [0.5, 1.0], "lam": 0.1, "d": 20, "trials": 3, "seed": 4})
CURVE = CachedCall("predict", SRF, ("sin",), {"alpha": [0.5, 1.0], "lam": 0.1})


def test_a_figure_has_data_pictures_and_a_page(tmp_path):
    (made,) = reproduce(["basis"], size="tiny", out=tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"basis.tanh.nc", "basis.sin.nc", "basis.pdf", "basis.png", "index.html", "scores.csv"}
    page = (tmp_path / "index.html").read_text()
    for words in ("basis.png", "The basis functions", "gs.coefficients(gs.SpikedRF(&#x27;sin&#x27;", made.date):
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
        assert line["worst z"] in page
    assert "d = 60, 4 trials" in page
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [{"figure": "letters"} | line for line in first.scores]


def test_data_of_another_call_or_a_damaged_file_is_computed_again(tmp_path):
    path = tmp_path / "part.nc"
    first = CURVE.obtain(path)
    other = CachedCall("predict", SRF, ("sin",), {"alpha": [0.5, 1.0], "lam": 0.2})
    assert not np.allclose(other.obtain(path)["test_error"], first["test_error"])
    path.write_bytes(b"not a file of data")
    np.testing.assert_array_equal(CURVE.obtain(path)["test_error"], first["test_error"])


def test_a_simulation_goes_on_with_the_trials_that_it_lacks(tmp_path):
    whole, path = RUN.compute(), tmp_path / "run.nc"
    fewer = CachedCall("simulate", SRF, ("sin",), {**RUN.options, "trials": 2})
    assert fewer.obtain(path).trial.values.tolist() == [0, 1]
    planted = load(path)
    save(planted.assign(test_error=planted.test_error + 1.0), path)
    found = RUN.obtain(path)  # the first two are those of the file
    np.testing.assert_array_equal(found.test_error[:2], whole.test_error[:2] + 1.0)
    np.testing.assert_array_equal(found.test_error[2], whole.test_error[2])
    assert found.attrs["seed"] == 4
    written = path.stat().st_mtime_ns
    assert fewer.obtain(path).sizes["trial"] == 2
    assert path.stat().st_mtime_ns == written


INTERRUPTED = f"""{CTRL_C}
from pathlib import Path
import giantstep as gs
from giantstep.figures.cached_call import CachedCall
options = {{"alpha": [0.5, 1.0], "lam": 0.1, "d": 20, "trials": 5, "seed": 4}}
try:
    CachedCall("simulate", gs.SpikedRF("tanh", r=0.9, gamma=1.0), ("sin",), options).obtain(Path("run.nc"))
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.posix
def test_ctrl_c_keeps_the_trials_that_are_finished(tmp_path):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, "2"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "stopped\n", done.stderr
    kept = load(tmp_path / "run.nc")
    assert kept.trial.values.tolist() == [0, 1]
    assert "interrupted" not in kept.attrs
    np.testing.assert_array_equal(kept.test_error, RUN.compute().test_error[:2])


def test_figures_have_names_and_numbers_and_others_are_refused_before_anything_is_written(tmp_path):
    assert find("5").NAME == find("width").NAME == "width"
    refused = [
        (name, "quick", f"figure '{name}' is not one of the paper's: .*width.* page Gallery")
        for name in ("widht", "17")
    ]
    for name, size, words in [*refused, ("basis", "huge", "size = 'huge'")]:
        with pytest.raises(ParameterError, match=words):
            reproduce([name], size=size, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_command_lists_and_draws(tmp_path):
    listed = giantstep("figure").stdout.splitlines()
    assert [line.split()[:2] for line in listed] == [[str(n), name] for n, name in enumerate(NAMES, 1)]
    done = giantstep("figure 7 --out here --workers 1", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "the pictures are in here\n")
    assert done.stdout.startswith("basis: ")
    assert (tmp_path / "here" / "basis.pdf").read_bytes().startswith(b"%PDF")
    assert not (tmp_path / "here" / "index.html").exists()


def compared(**z: float) -> xr.Dataset:
    """A comparison of ten trials with these z at two points."""
    coords = {"alpha": [1.0, 2.0], "part": ["theory", "simulation", "z"]}
    values = {name: (tuple(coords), [[1.0, 1.0, value], [1.0, 1.0, 0.0]]) for name, value in z.items()}
    return xr.Dataset(values, coords, {"trials": 10})


def test_scores_are_those_of_the_points_and_scatter_like_students_distribution():
    error, gamma = scores({"a theory": compared(test_error=-0.5, gamma=4.0)})
    cells = ["a theory", "test error", "2", "10", f"{0.5 / 2**0.5:.2f}", f"{t(9).std():.2f}", "-0.50"]
    assert list(error.values()) == cells
    assert len(table([error]).splitlines()) == 2
    # alignments have no correction for d; errors have
    assert "\nnot corrected for d, so that part of their z is due to it: gamma\n" in table([gamma])
    assert "where rms z is above" in table([gamma])
    assert of_the_limit(["test_error", "gamma", "r", "c"]).endswith("due to it: c, r, gamma")
