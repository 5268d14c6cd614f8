"""The file a user writes and the commands a user types."""

import csv
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import giantstep as gs
from giantstep.errors import ParameterError
from giantstep.sweep import results
from giantstep.sweep.toml import read

from ..surface.command import giantstep
from .helpers import write_toml


def parsed(tmp_path: Path, text: str) -> gs.Sweep:
    (tmp_path / "s.toml").write_text(text)
    return read(tmp_path / "s.toml")


def sweep(*words: object) -> subprocess.CompletedProcess[str]:
    return giantstep(" ".join(["sweep", *map(str, words)]))


def test_a_file_says_what_python_says(tmp_path):
    found = parsed(
        tmp_path,
        """
        target = { function = "sin", noise = [0, 0.5] }
        alpha = [0.1, "0.5:2:4"]
        lam = "0.01:1:3:log"
        loss = "square"
        [model]
        activation = "tanh"
        r = 1
        gamma = "0:1:3"
        readout = { values = [-1, 1], weights = [0.5, 0.5] }
        [theory]
        d = [100, "inf"]
        [simulation]
        d = 50
        trials = [3, 7]
        """,
    )
    same = gs.Sweep(
        gs.SpikedRF("tanh", r=1.0, gamma=[0, 0.5, 1], readout="rademacher"),
        gs.Target("sin", noise=[0, 0.5]),
        alpha=[0.1, 0.5, 1.0, 1.5, 2.0],
        lam=[0.01, 0.1, 1.0],
        theory={"d": [100, np.inf]},
        simulation={"d": 50, "trials": [3, 7]},
    )
    assert found == same
    data = json.loads(json.dumps(found.to_dict()))
    assert data == json.loads(json.dumps(same.to_dict()))
    for part in (data, data["theory"], data["simulation"]):
        assert gs.Sweep.from_dict(data) == found
        del part["kind"]  # as in older stores
    assert gs.Sweep.from_dict(data) == found


GOOD = {
    "target": '"sin"',
    "alpha": "1",
    "lam": "0.1",
    "model": '{ activation = "tanh", eta = 1, alpha0 = 1 }',
    "theory": "{}",
}


def written(sweep: dict[str, str]) -> str:
    return "\n".join(f"{key} = {value}" for key, value in sweep.items())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"alhpa": "1"}, "alhpa is unknown; a sweep has model, target, alpha"),
        ({"alpha": '"0.2:3:x"'}, "alpha = '0.2:3:x' is a range whose count"),
        ({"alpha": "true"}, "alpha = True has a truth value where a number is needed"),
        ({"alpha": '["1:2:2", true]'}, "alpha = True has a truth value"),
        ({"alpha": "[]"}, "alpha is an empty range"),
        ({"alpha": "1" + 400 * "0"}, "is not a number or a sequence of numbers"),
        ({"model": '{ activation = "tanh", eta = 1 }'}, "alpha0 is missing: give eta and alpha0"),
        ({"model": '{ activation = "tanh", eta = 1, alpha0 = 1, gama = 2 }'}, "model.gama is unknown"),
        ({"model": '{ activation = "tanh" }'}, "neither eta and alpha0"),
        ({"model": '{ kind = "rnn", activation = "tanh", r = 1, gamma = 1 }'}, "model.kind = 'rnn'"),
        ({"model": '{ activation = "tanh", eta = 1, alpha0 = 1, reuse_batch = 1 }'}, "reuse_batch = 1 is not allowed"),
        ({"theory": '{ tolerance = true }'}, "theory.tolerance = True has a truth value"),
        ({"model": '{ activation = 3, eta = 1, alpha0 = 1 }'}, "activation = 3 is not a function"),
        ({"target": "3"}, "target = 3 is neither a function"),
        ({"theory": "3"}, "theory = 3 is not a table of options"),
        ({"simulation": "{ trials = 3 }"}, "simulation.d is missing"),
        ({"target": '"sin(x) + y"'}, "'sin(x) + y': 'y' is not known; the variable is x, the constants are pi and e"),
        ({"loss": '"logistic"', "simulation": "{ d = 50 }"}, "loss = 'logistic' is for labels ±1"),
        ({"loss": '"huber:1"', "lam": "[0, 1]", "simulation": "{ d = 50 }"}, "lam must be positive with loss"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_are_named(tmp_path, changed, words):
    with pytest.raises(ParameterError, match=rf"s\.toml.*{re.escape(words)}"):
        parsed(tmp_path, written(GOOD | changed))


def test_the_example_is_a_sweep_and_files_that_are_not_there_or_not_toml_are_refused(tmp_path):
    example = read(Path(__file__).parents[2] / "examples" / "sweep.toml")
    assert None not in (example.theory, example.simulation)
    with pytest.raises(ParameterError, match="does not exist"):
        read(tmp_path / "no.toml")
    with pytest.raises(ParameterError, match="is not a TOML file"):
        parsed(tmp_path, "alpha == 1")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("eta = 1, alpha0 = 1, steps = 2, reuse_batch = true", gs.Network("tanh", 1, 1, steps=2, reuse_batch=True)),
        ("steps = [{ eta = 1, alpha0 = 2 }, { eta = \"1:2:3\", alpha0 = 1, loss = \"huber:1\" }]",
         gs.Network("tanh", steps=[gs.Step(1, 2), gs.Step([1, 1.5, 2], 1, "huber:1")])),
        ("eta = 1, alpha0 = [1, \"2:3:2\"], rows = \"gaussian\"", gs.Network("tanh", 1, [1, 2, 3], rows="gaussian")),
        ("kind = \"SpikedRF\", r = 1, gamma = 0.5, readout = \"rademacher\"",
         gs.SpikedRF("tanh", r=1, gamma=0.5, readout="rademacher")),
    ],
)  # fmt: skip
def test_a_file_describes_every_kind_of_model(tmp_path, model, expected):
    changed = {"model": f'{{ activation = "tanh", {model} }}'}
    assert parsed(tmp_path, written(GOOD | changed)).model == expected


@pytest.mark.filterwarnings("ignore:the theory is the limit")
def test_run_status_export_and_plot(tmp_path):
    toml = write_toml(tmp_path, trials=3)
    done = sweep("status", toml)
    assert (done.returncode, "nothing of this sweep has been computed yet" in done.stderr) == (2, True)
    done = sweep("run", toml, "--workers 1")
    assert (done.returncode, done.stdout.count("done")) == (0, 2)
    assert "simulation: 6 of 6 done, 0 running, 0 failed" in done.stderr
    for file in (toml, tmp_path / "sweep.sqlite"):
        assert sweep("status", file).stdout == done.stdout
    tables = {}
    for part in ("theory", "simulation", "comparison"):
        for ending in ("nc", "csv"):
            assert sweep("export", toml, tmp_path / f"{part}.{ending}", "--part", part).returncode == 0
        assert gs.load(tmp_path / f"{part}.nc").attrs["missing"] == 0
        tables[part] = list(csv.DictReader((tmp_path / f"{part}.csv").read_text().splitlines()))
    assert {row["d"] for row in tables["theory"]} == {"inf"}
    assert {float(row["d"]) for part in ("simulation", "comparison") for row in tables[part]} == {20}
    found = results(None, tmp_path / "sweep.sqlite")
    z = gs.compare(found.theory, found.simulation).test_error.sel(part="z").values.ravel()
    np.testing.assert_allclose([float(row["test_error[z]"]) for row in tables["comparison"]], z, rtol=1e-12)
    assert "--part comparison" in sweep("export", toml, tmp_path / "out.csv").stderr
    axes = gs.plot(found.simulation, "alpha", theory=found.theory)
    assert max(len(line.get_xdata()) for line in axes.lines) > 10 > found.theory.sizes["alpha"]  # smooth
    assert sweep("plot", toml, tmp_path / "curves.png", "--x alpha").returncode == 0
    assert (tmp_path / "curves.png").stat().st_size > 0
    done = sweep("export", toml, tmp_path / "out.docx")
    assert (done.returncode, "unknown ending" in done.stderr) == (2, True)


def test_a_simulation_alone_has_no_comparison_and_of_labels_plus_or_minus_one_wrong_signs_are_drawn(tmp_path):
    toml, picture = write_toml(tmp_path, trials=2), tmp_path / "curves.svg"
    text = toml.read_text().replace('[theory]\nbulk = "isotropic"\n', "")
    toml.write_text(text.replace('"sin"', '{ function = "sign", flips = 0.1 }'))
    assert sweep("run", toml, "--workers 1 --quiet").returncode == 0
    done = sweep("export", toml, tmp_path / "out.csv --part comparison")
    assert (done.returncode, "has only simulation" in done.stderr) == (2, True)
    for more, label in ("", "share of wrong signs"), ("--show test_error", "test error"):
        assert sweep("plot", toml, picture, "--x alpha", more).returncode == 0
        assert label in picture.read_text(encoding="utf-8")
