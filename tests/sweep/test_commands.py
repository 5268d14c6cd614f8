"""The file a user writes and the commands a user types."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import giantstep as gs
from giantstep.cli import main
from giantstep.errors import ParameterError
from giantstep.sweep import results
from giantstep.sweep.toml import read

from .helpers import write_toml

EXAMPLE = Path(__file__).parents[2] / "examples" / "sweep.toml"


def canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True)


def parsed(tmp_path: Path, text: str) -> gs.Sweep:
    path = tmp_path / "s.toml"
    path.write_text(text)
    return read(path)


def test_a_file_says_what_python_says(tmp_path):
    sweep = parsed(
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
    assert sweep == same
    assert canonical(sweep.to_dict()) == canonical(same.to_dict())
    data = json.loads(canonical(sweep.to_dict()))
    for part in (data, data["theory"], data["simulation"]):
        assert gs.Sweep.from_dict(data) == sweep
        del part["kind"]  # as in older stores
    assert gs.Sweep.from_dict(data) == sweep


GOOD = {
    "target": '"sin"',
    "alpha": "1",
    "lam": "0.1",
    "model": '{ activation = "tanh", eta = 1, alpha0 = 1 }',
    "theory": "{}",
}


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
    lines = [f"{key} = {value}" for key, value in (GOOD | changed).items() if value is not None]
    with pytest.raises(ParameterError) as refusal:
        parsed(tmp_path, "\n".join(lines))
    assert words in str(refusal.value)
    assert "s.toml" in str(refusal.value)


def test_the_example_is_a_sweep_and_files_that_are_not_there_or_not_toml_are_refused(tmp_path):
    assert None not in (read(EXAMPLE).theory, read(EXAMPLE).simulation)
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
    changed = GOOD | {"model": f'{{ activation = "tanh", {model} }}'}
    assert parsed(tmp_path, "\n".join(f"{key} = {value}" for key, value in changed.items())).model == expected


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["sweep", *map(str, words)])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


@pytest.mark.filterwarnings("ignore:the theory is the limit")
def test_run_status_export_and_plot(tmp_path, capsys):
    toml = write_toml(tmp_path, trials=3)
    code, _, err = run(capsys, "status", toml)
    assert code == 2
    assert "nothing of this sweep has been computed yet" in err
    code, out, err = run(capsys, "run", toml, "--workers", 1)
    assert (code, out.count("done")) == (0, 2)
    assert "simulation: 6 of 6 done, 0 running, 0 failed" in err
    for file in (toml, tmp_path / "sweep.sqlite"):
        code, again, _ = run(capsys, "status", file)
        assert (code, again) == (0, out)
    tables = {}
    for part in ("theory", "simulation", "comparison"):
        for ending in ("nc", "csv"):
            assert run(capsys, "export", toml, tmp_path / f"{part}.{ending}", "--part", part)[0] == 0
        assert gs.load(tmp_path / f"{part}.nc").attrs["missing"] == 0
        with (tmp_path / f"{part}.csv").open() as file:
            tables[part] = list(csv.DictReader(file))
    assert {row["d"] for row in tables["theory"]} == {"inf"}
    assert {float(row["d"]) for part in ("simulation", "comparison") for row in tables[part]} == {20}
    found = results(None, tmp_path / "sweep.sqlite")
    z = gs.compare(found.theory, found.simulation).test_error.sel(part="z").values.ravel()
    np.testing.assert_allclose([float(row["test_error[z]"]) for row in tables["comparison"]], z, rtol=1e-12)
    assert "--part comparison" in run(capsys, "export", toml, tmp_path / "out.csv")[2]
    axes = gs.plot(found.simulation, "alpha", theory=found.theory)
    assert max(len(line.get_xdata()) for line in axes.lines) > 10 > found.theory.sizes["alpha"]  # smooth
    assert run(capsys, "plot", toml, tmp_path / "curves.png", "--x", "alpha")[0] == 0
    assert (tmp_path / "curves.png").stat().st_size > 0
    code, _, err = run(capsys, "export", toml, tmp_path / "out.docx")
    assert code == 2
    assert "unknown ending" in err


def test_a_part_that_is_not_there_is_named(tmp_path, capsys):
    toml = write_toml(tmp_path, trials=1)
    toml.write_text(toml.read_text().replace('[theory]\nbulk = "isotropic"\n', ""))
    run(capsys, "run", toml, "--workers", 1)
    code, _, err = run(capsys, "export", toml, tmp_path / "out.csv", "--part", "comparison")
    assert code == 2
    assert "has only simulation" in err


def test_of_labels_plus_or_minus_one_the_wrong_signs_are_drawn(tmp_path, capsys):
    toml, picture = write_toml(tmp_path, trials=2), tmp_path / "curves.svg"
    toml.write_text(toml.read_text().replace('"sin"', '{ function = "sign", flips = 0.1 }'))
    run(capsys, "run", toml, "--workers", 1)
    for more, label in ([], "share of wrong signs"), (["--show", "test_error"], "test error"):
        assert run(capsys, "plot", toml, picture, "--x", "alpha", *more)[0] == 0
        assert label in picture.read_text(encoding="utf-8")
