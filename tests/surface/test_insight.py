"""The commands bounds, learned, spectrum, tune, and compare with several bulks, as a person runs them."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import giantstep as gs

from .command import giantstep


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_bounds_are_ordered_and_drawn(tmp_path):
    done = giantstep(
        "bounds --activation tanh --target sin --r 0.5:2:4 --gamma 1 --format csv --plot b.png", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    assert len(found) == 4
    for row in found:
        assert float(row["lower"]) <= float(row["lower_beta"]) <= float(row["upper"]) <= float(row["linear"])
    assert (tmp_path / "b.png").stat().st_size > 5_000


@pytest.mark.parametrize(
    "asked",
    [
        "--eta 1 --alpha0 3 --target x1+x1*x2 --show by_direction",
        "--eta 1 --alpha0 3 --target sin --over eta --show eta_lower",
        "--eta 0.5:2:3 --alpha0 3 --target x1+x1*x2 --plot b.svg",
    ],
)
def test_what_is_no_bound_is_shown_and_left_out_of_the_picture(tmp_path, asked):
    done = giantstep(f"bounds --activation gelu {asked} --format csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout)
    if "--plot" in asked:
        words = (tmp_path / "b.svg").read_text()
        assert [name in words for name in (">upper<", ">lower<", "by_direction")] == [True, True, False]


def test_a_trained_network_bends_and_random_features_do_not(tmp_path):
    arguments = (
        "learned --target tanh --eta 2.5 --alpha0 0,2.5 --alpha 2 --lam 0.01 --at -4,-2,2,4 --format csv"
    )
    done = giantstep(f"{arguments} --plot l.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {(float(row["alpha0"]), float(row["x"])): float(row["learned"]) for row in rows(done.stdout)}
    assert found[0.0, 4.0] == pytest.approx(2 * found[0.0, 2.0], rel=1e-9)  # linear
    assert found[2.5, 4.0] < 1.3 * found[2.5, 2.0]  # saturates
    assert (tmp_path / "l.png").exists()


def test_a_table_shows_a_tenth_of_the_places_that_a_learned_function_is_drawn_at():
    arguments = "learned --eta 2.5 --alpha0 2 --alpha 2 --lam 0.01"
    every = rows(giantstep(f"{arguments} --format csv").stdout)
    table = giantstep(arguments).stdout.splitlines()
    assert len(every) == 121
    assert [line.split()[0] for line in table[2:-1]] == [f"{x:.1f}" for x in np.linspace(-3, 3, 13)]
    assert "every 10th" in table[-1]


def test_a_plane_is_summed_up_unless_its_points_are_asked_for(tmp_path):
    arguments = (
        "learned --activation relu --target x1+x1*x2 --eta 3 --alpha0 2,8 --readout rademacher --alpha 8"
        " --lam 0.1 --at -3:3:31 --plane --bulk isotropic"
    )
    done = giantstep(arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    heading, names, *settings, where = done.stdout.splitlines()
    assert "x1+x1*x2 target" in heading
    assert (names.split()[0], names.split()[-1]) == ("alpha0", "test_error")
    assert len(settings) == 2
    assert "31 × 31 points" in where
    every = giantstep(f"{arguments} --format csv", cwd=tmp_path)
    assert len(rows(every.stdout)) == 2 * 31 * 31
    asked = giantstep(f"{arguments} --show learned", cwd=tmp_path)
    assert len(asked.stdout.splitlines()) == 2 + 2 * 31 * 31


def test_the_spectrum_of_the_weights_is_marchenko_pastur_without_a_step(tmp_path):
    done = giantstep(
        "spectrum --weights --r 1 --gamma 1 --beta 0.25 --format json --plot s.png", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    edges = json.loads(done.stdout)["data_vars"]["edge"]["data"]
    flat = [edge for interval in edges for edge in interval]
    assert flat == pytest.approx([0.25, 2.25], rel=1e-6)  # (1 ± √β)²
    assert (tmp_path / "s.png").exists()


def test_simulated_eigenvalues_stand_beside_the_theory(tmp_path):
    arguments = "spectrum --activation tanh --r 1 --gamma 1 --alpha 2 --d 100 --trials 6 --plot e.png"
    done = giantstep(arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.split()}
    value, error = float(words["largest"][0]), float(words["largest"][2])
    assert abs(value - float(words["spike"][0])) < 5 * error  # the spike fluctuates by √d; six trials
    assert (tmp_path / "e.png").exists()


def test_eigenvalues_are_simulated_where_there_is_no_theory(tmp_path):
    words = "--activation relu --readout rademacher --eta 1 --alpha0 1 --steps 2"
    done = giantstep(f"spectrum {words} --d 30 --trials 2 --plot s.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no theory: " in done.stderr
    assert "simulated, 2 trials" in done.stdout
    assert (tmp_path / "s.png").exists()
    assert giantstep(f"spectrum {words} --d 30", cwd=tmp_path).returncode == 2


def test_tuning_finds_a_penalty_no_worse_than_any_that_was_scanned(tmp_path):
    done = giantstep("tune --r 1 --gamma 0.8 --alpha 1.5 --over lam --out t.json --plot t.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "best_lam" in done.stdout
    data = json.loads((tmp_path / "t.json").read_text())["data_vars"]
    assert data["best_error"]["data"] <= min(data["landscape"]["data"])
    assert (tmp_path / "t.png").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("tune --r 1 --gamma 1 --alpha 1 --over eta,lam", "needs a Network"),
        ("tune --eta 1 --alpha0 1 --over lam", "give alpha,"),
        ("tune --eta 1 --alpha0 1 --alpha 1 --over lambda", "did you mean 'lam'?"),
        ("tune --eta 1 --alpha0 1 --alpha 1 --over eta", "give the penalty lam,"),
        ("spectrum --target x1+x1*x2 --eta 1 --alpha0 1 --bulk exact", "use bulk = 'isotropic'"),
        ("spectrum --alpha 1", "--eta and --alpha0 are missing"),
        ("spectrum --r 1 --gamma 1 --alpha 1,2 --plot s.png", "single numbers"),
        ("spectrum --weights --eta 1 --alpha0 2 --alpha 2 --kernel", "--alpha, --kernel and --normalise n"),
        ("tune --alpha0 1 --alpha 2 --over lam", "--eta is missing"),
        ("bounds --eta 1 --alpha0 1 --plot nowhere/b.png", "nowhere"),
        ("compare --r 1 --gamma 1 --alpha 1 --lam 1 --d 50 --bulk isotropic,exact", "trained Network"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, words, tmp_path):
    done = giantstep(arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_tuned_need_not_be_given():
    given = giantstep("tune --eta 7 --alpha0 1 --alpha 2 --over eta,lam --bulk isotropic")
    free = giantstep("tune --alpha0 1 --alpha 2 --over eta,lam --bulk isotropic")
    assert given.returncode == free.returncode == 0, free.stderr
    assert rows(free.stdout) == rows(given.stdout)
    split = giantstep("tune --budget 3 --over eta,lam,split --bulk isotropic")
    assert split.returncode == 0, split.stderr
    bounds = giantstep("bounds --alpha0 1 --over eta --bulk isotropic")
    assert bounds.returncode == 0, bounds.stderr
    assert "eta_upper" in bounds.stdout


TWO_LETTERS = (
    "--activation gelu --target tanh(2*x)+0.2*x**2 --noise 0.5 --eta 2 --alpha0 1.5 --readout -1:0.4,0.5:0.6"
)


def test_several_spectra_are_told_apart_setting_by_setting():
    lines = giantstep("spectrum --eta 1 --alpha0 2 --alpha 2,4").stdout.splitlines()
    assert lines[0] == "# tanh network, sin target, exact bulk; eta = 1, alpha0 = 2, beta = 1"
    assert [line for line in lines if " = " in line][1:] == ["alpha = 2", "alpha = 4"]
    edges = [line.split()[1:] for line in lines if line.startswith("edge")]
    for alpha, found in zip((2, 4), edges, strict=True):
        expected = gs.spectrum(gs.Network("tanh", 1, 2), "sin", alpha=alpha).edge.values.ravel()
        assert [float(edge.rstrip(",")) for edge in found] == pytest.approx(expected, rel=1e-5)
    weights = giantstep("spectrum --eta 1 --alpha0 2 --weights").stdout
    assert "\nedge           0, " in weights  # a support that reaches zero


def test_simulated_moments_are_those_of_the_bulk_with_any_number_of_spikes():
    done = giantstep(f"spectrum {TWO_LETTERS} --alpha 2 --d 150 --trials 4")
    assert "without the 2 largest" in done.stdout
    theory, simulated = (
        float(line.split()[1]) for line in done.stdout.splitlines() if line.strip().startswith("moment1")
    )
    assert simulated == pytest.approx(theory, rel=0.1)  # a spike left in would add half as much again


def test_a_thin_tail_is_told_from_where_eigenvalues_are(tmp_path):
    done = giantstep(f"spectrum {TWO_LETTERS} --alpha 2 --beta 1.5 --plot s.png", cwd=tmp_path)
    told = done.stdout.split("99.99% of the bulk is below ")[1].split(")")[0]
    net = gs.Network("gelu", 2, 1.5, 1.5, readout=gs.Letters((-1, 0.5), (0.4, 0.6)))
    target = gs.Target("tanh(2*x)+0.2*x**2", noise=0.5)
    found = gs.spectrum(net, target, alpha=2)
    beyond = found.eigenvalue > float(told)
    share = float((found.weight * found.density).where(beyond, 0.0).sum())
    assert 0.0 < share < 2e-4
    assert float(told) < 0.6 * float(found.edge.max())
    assert gs.plot(found).get_xlim()[1] < 1.3 * float(told)


def test_coefficients_name_the_norms_that_they_are_for():
    heading, *table = giantstep(f"coefficients {TWO_LETTERS}").stdout.splitlines()
    net = gs.Network("gelu", 2, 1.5, readout=gs.Letters((-1, 0.5), (0.4, 0.6)))
    expected = gs.predict(net, gs.Target("tanh(2*x)+0.2*x**2", noise=0.5), alpha=1, lam=1).c.values
    assert f"c[-1] = {expected[0]:.6g}, c[0.5] = {expected[1]:.6g}" in heading
    assert len(table) == 1 + 9 + 1  # every tenth of 81 places, of which a picture has all


SIGNS = "--activation erf --target sign --flips 0.1 --loss logistic --eta 2 --alpha0 1 --alpha 1,2 --lam 0.3"


def test_comparisons_of_labels_fit_a_terminal_with_wrong_signs_first():
    done = giantstep(f"compare {SIGNS} --d 40 --trials 3")
    heading, *lines = done.stdout.splitlines()
    assert heading.startswith("# erf network")
    tables = [line.split() for line in lines if line.startswith("alpha ")]
    assert tables == [["alpha", name, "simulated", "±", "z"] for name in ("test_error_01", "test_error")]
    assert max(map(len, lines[: lines.index("")])) < 60


def test_several_bulks_of_labels_are_compared_by_their_wrong_signs():
    done = giantstep(f"compare {SIGNS} --d 40 --trials 3 --bulk isotropic,exact")
    assert done.returncode == 0, done.stderr
    heading, columns, *lines = done.stdout.splitlines()
    assert columns.split() == ["bulk", "alpha", "test_error_01", "simulated", "±", "z"]
    theory = [float(line.split()[2]) for line in lines[:4]]
    words = {"loss": "logistic", "alpha": [1, 2], "lam": 0.3, "d": 40}
    for bulk, printed in (("isotropic", theory[:2]), ("exact", theory[2:])):
        exact = gs.predict(gs.Network("erf", 2, 1), gs.Target("sign", flips=0.1), bulk=bulk, **words)
        np.testing.assert_allclose(printed, exact.test_error_01, rtol=5e-5)
    assert heading.startswith(
        "# erf network, sign target, flips = 0.1, logistic loss, isotropic and exact bulk; eta"
    )
