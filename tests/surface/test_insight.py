"""The commands bounds, learned, spectrum, tune, and compare with several bulks, as a person runs them."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import giantstep as gs

from .command import giantstep

TWO_LETTERS = "--activation gelu --target tanh(2*x)+0.2*x**2 --noise 0.5 --eta 2 --alpha0 1.5 --readout -1:0.4,0.5:0.6"
LETTERS = gs.Letters((-1, 0.5), (0.4, 0.6))
CURVED = gs.Target("tanh(2*x)+0.2*x**2", noise=0.5)


def rows(command: str) -> list[dict[str, str]]:
    done = giantstep(f"{command} --format csv")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("bounds --r 0.5:2:4 --gamma 1", "lower_beta"),
        ("learned --target tanh --eta 2.5 --alpha0 0,2.5 --alpha 2 --lam 0.01", "every 10th"),
        ("spectrum --weights --r 1 --gamma 1", "edge"),
        ("spectrum --r 1 --gamma 1 --alpha 2 --d 40 --trials 2", "simulated, 2 trials"),
        ("tune --r 1 --gamma 0.8 --alpha 1.5 --over lam", "best_lam"),
        ("explain --eta 2 --alpha0 2 --noise 0.1 --alpha 1,2 --lam 0.1", "help most"),
        ("predict --eta 1 --alpha0 1 --alpha 1,2 --lam 0.1 --reference bayes,ridge", "train_error"),
        ("bayes --target sin --noise 0.1 --alpha 1,2", "alpha_weak"),
        ("coefficients --r 1 --gamma 1", "mu2"),
        ("staircase --activation relu --target x1+x1*x2 --eta 1 --alpha0 2 --steps 2", "x2: "),
    ],
)
def test_every_answer_is_printed_and_drawn(tmp_path, command, words):
    done = giantstep(f"{command} --plot a.png", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "drew a.png\n")
    assert words in done.stdout
    assert (tmp_path / "a.png").stat().st_size > 5_000


def test_what_is_no_bound_is_shown_and_left_out_of_the_picture(tmp_path):
    assert rows("bounds --activation gelu --eta 1 --alpha0 3 --target sin --over eta --show eta_lower")
    words = "bounds --activation gelu --eta 0.5:2:3 --alpha0 3 --target x1+x1*x2"
    assert giantstep(f"{words} --show by_direction").returncode == 0
    giantstep(f"{words} --plot b.svg", cwd=tmp_path)
    drawn = (tmp_path / "b.svg").read_text()
    assert [name in drawn for name in (">upper<", ">lower<", "by_direction")] == [True, True, False]


def test_a_table_shows_a_tenth_of_the_places_that_a_learned_function_is_drawn_at():
    arguments = "learned --eta 2.5 --alpha0 2 --alpha 2 --lam 0.01"
    assert len(rows(arguments)) == 121
    table = giantstep(arguments).stdout.splitlines()
    assert [line.split()[0] for line in table[2:-1]] == [f"{x:.1f}" for x in np.linspace(-3, 3, 13)]


def test_a_plane_is_summed_up_unless_its_points_are_asked_for():
    arguments = (
        "learned --activation relu --target x1+x1*x2 --eta 3 --alpha0 2,8 --readout rademacher --alpha 8"
        " --lam 0.1 --at -3:3:31 --plane --bulk isotropic"
    )
    heading, names, *settings, where = giantstep(arguments).stdout.splitlines()
    assert "x1+x1*x2 target" in heading
    assert (names.split()[0], names.split()[-1]) == ("alpha0", "test_error")
    assert len(settings) == 2
    assert "31 × 31 points" in where
    assert len(rows(arguments)) == 2 * 31 * 31
    assert len(giantstep(f"{arguments} --show learned").stdout.splitlines()) == 2 + 2 * 31 * 31


def test_the_spectrum_of_the_weights_is_marchenko_pastur_without_a_step():
    done = giantstep("spectrum --weights --r 1 --gamma 1 --beta 0.25 --format json")
    edges = np.ravel(json.loads(done.stdout)["data_vars"]["edge"]["data"])
    assert edges == pytest.approx([0.25, 2.25], rel=1e-6)  # (1 ± √β)²
    assert "\nedge           0, " in giantstep("spectrum --eta 1 --alpha0 2 --weights").stdout  # reaches zero


def test_eigenvalues_are_simulated_where_there_is_no_theory(tmp_path):
    words = "--activation relu --readout rademacher --eta 1 --alpha0 1 --steps 2"
    done = giantstep(f"spectrum {words} --d 30 --trials 2 --plot s.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no theory: " in done.stderr
    assert "simulated, 2 trials" in done.stdout
    assert (tmp_path / "s.png").exists()
    assert giantstep(f"spectrum {words} --d 30").returncode == 2


def test_what_is_tuned_need_not_be_given():
    words = "--alpha0 1 --alpha 2 --over eta,lam --bulk isotropic"
    assert rows(f"tune {words}") == rows(f"tune --eta 7 {words}")
    assert giantstep("tune --budget 3 --over eta,lam,split --bulk isotropic").returncode == 0
    assert "eta_upper" in giantstep("bounds --alpha0 1 --over eta --bulk isotropic").stdout


def test_several_spectra_are_told_apart_setting_by_setting():
    lines = giantstep("spectrum --eta 1 --alpha0 2 --alpha 2,4").stdout.splitlines()
    assert lines[0] == "# tanh network, sin target, exact bulk; eta = 1, alpha0 = 2, beta = 1"
    assert [line for line in lines if " = " in line][1:] == ["alpha = 2", "alpha = 4"]
    edges = [line.split()[1:] for line in lines if line.startswith("edge")]
    for alpha, found in zip((2, 4), edges, strict=True):
        expected = gs.spectrum(gs.Network("tanh", 1, 2), "sin", alpha=alpha).edge.values.ravel()
        assert [float(edge.rstrip(",")) for edge in found] == pytest.approx(expected, rel=1e-5)


def test_simulated_moments_are_those_of_the_bulk_with_any_number_of_spikes():
    done = giantstep(f"spectrum {TWO_LETTERS} --alpha 2 --d 150 --trials 4")
    assert "without the 2 largest" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines() if line.split()]
    (third, _), (second, _), (top, error) = (  # all but 2, all but 1, all
        (float(line[-3]), float(line[-1])) for line in lines if line[0] == "largest"
    )
    (spike,) = (float(line[1].rstrip(",")) for line in lines if line[0] == "spike")
    assert third < second < top
    assert abs(top - spike) < 5 * error  # the spike fluctuates by √d; four trials
    theory, simulated = (float(line[1]) for line in lines if line[0] == "moment1")
    assert simulated == pytest.approx(theory, rel=0.1)  # a spike left in would add half as much again


def test_a_thin_tail_is_told_from_where_eigenvalues_are():
    done = giantstep(f"spectrum {TWO_LETTERS} --alpha 2 --beta 1.5")
    told = float(done.stdout.split("99.99% of the bulk is below ")[1].split(")")[0])
    found = gs.spectrum(gs.Network("gelu", 2, 1.5, 1.5, readout=LETTERS), CURVED, alpha=2)
    share = float((found.weight * found.density).where(found.eigenvalue > told, 0.0).sum())
    assert 0.0 < share < 2e-4
    assert told < 0.6 * float(found.edge.max())
    assert gs.plot(found).get_xlim()[1] < 1.3 * told


def test_coefficients_name_the_norms_that_they_are_for():
    heading, *table = giantstep(f"coefficients {TWO_LETTERS}").stdout.splitlines()
    expected = gs.predict(gs.Network("gelu", 2, 1.5, readout=LETTERS), CURVED, alpha=1, lam=1).c.values
    assert f"c[-1] = {expected[0]:.6g}, c[0.5] = {expected[1]:.6g}" in heading
    assert len(table) == 1 + 9 + 1  # every tenth of 81 places, of which a picture has all


def test_comparisons_of_labels_have_wrong_signs_first_and_a_row_for_each_bulk():
    words = "--activation erf --target sign --flips 0.1 --loss logistic --eta 2 --alpha0 1 --alpha 1,2 --lam 0.3"
    heading, *lines = giantstep(f"compare {words} --d 40 --trials 3").stdout.splitlines()
    assert heading.startswith("# erf network")
    tables = [line.split() for line in lines if line.startswith("alpha ")]
    assert tables == [["alpha", name, "simulated", "±", "z"] for name in ("test_error_01", "test_error")]
    assert not any(line.startswith("#") for line in lines)  # one heading for both
    assert max(map(len, lines[: lines.index("")])) < 60  # of a terminal
    done = giantstep(f"compare {words} --d 40 --trials 3 --bulk isotropic,exact")
    assert done.returncode == 0, done.stderr
    heading, columns, *lines = done.stdout.splitlines()
    assert "sign target, flips = 0.1, logistic loss, isotropic and exact bulk; eta" in heading
    assert columns.split() == ["bulk", "alpha", "test_error_01", "simulated", "±", "z"]
    for bulk, row in zip(("isotropic", "exact"), (lines[0], lines[2]), strict=True):
        options = {"loss": "logistic", "alpha": 1, "lam": 0.3, "d": 40, "bulk": bulk}
        exact = gs.predict(gs.Network("erf", 2, 1), gs.Target("sign", flips=0.1), **options)
        assert row.split()[:2] == [bulk, "1"]
        assert float(row.split()[2]) == pytest.approx(exact.test_error_01.item(), rel=5e-5)


def test_a_table_of_parts_has_no_columns_of_what_is_not_known():
    question = "explain --eta 2 --alpha0 2 --alpha 1 --lam 0.1"
    isotropic, structured = giantstep(question).stdout, giantstep(f"{question} --eigenvalues 2,0.5").stdout
    assert "bayes_error  ridge_error" in isotropic
    assert "batch_noise" in structured
    assert "nan" not in structured
