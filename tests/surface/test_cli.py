"""The command line as users meet it: real processes, their output, their exit status."""

import csv
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import giantstep as gs
from giantstep.model.parameters import PARAMETERS

from .command import COMMAND, CTRL_C, started
from .command import giantstep as run

NET = "--eta 1 --alpha0 0.5"
POINT = f"{NET} --alpha 1 --lam 0.1"
CURVE = f"{NET} --alpha 0.5:3:4 --lam 0.1"
TWO_LETTERS = gs.Letters([-1.0, 2.0], [0.25, 0.75])
TWO_BIASES = gs.Letters([1.0, 1.0], [0.5, 0.5], [0.0, 0.7])


def rows(text: str) -> list[dict[str, str]]:
    """A table's rows by column, the heading with # left out."""
    header, *lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_predict_prints_the_numbers_of_predict_and_writes_files_and_pictures_on_request(tmp_path):
    words = "predict --activation tanh --target sin --eta 3 --alpha0 20 --beta 1 --alpha 0.2:3:5 --lam 0.1"
    done = run(f"{words} --out a.nc --plot a.png", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "wrote a.nc\ndrew a.png\n")
    expected = gs.predict(gs.Network("tanh", 3.0, 20.0), "sin", alpha=np.linspace(0.2, 3, 5), lam=0.1)
    table = rows(done.stdout)
    assert [float(row["alpha"]) for row in table] == [0.2, 0.9, 1.6, 2.3, 3.0]
    printed = [float(row["test_error"]) for row in table]
    np.testing.assert_allclose(printed, expected.test_error, rtol=5e-5)  # five digits are printed
    assert f"r = {float(expected.r):.6g}, gamma = {float(expected.gamma):.6g}" in done.stdout.splitlines()[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", "a.png"]
    assert gs.load(tmp_path / "a.nc").test_error.equals(expected.test_error)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_range_in_every_numeric_parameter_makes_a_grid():
    done = run(
        "predict --r 0.5,1 --gamma -0.5:0.5:2 --c 1,2 --beta 0.5:2:2:log --noise 0,0.1"
        " --alpha 1:2:2 --lam 0.1,inf --d 100,inf --format json"
    )
    data = json.loads(done.stdout)
    names = ("r", "gamma", "c", "beta", "noise", "alpha", "lam", "d")
    assert all(np.size(data["coords"][name]["data"]) == 2 for name in names)
    assert np.shape(data["data_vars"]["test_error"]["data"]) == (2,) * 8
    assert data["coords"]["lam"]["data"] == [0.1, "inf"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"predict {POINT}", "give some parameter a range"),
        (f"predict {CURVE} --x lam", "--x lam is not a dimension of test_error; it has alpha"),
        ("tune --budget 1 --over eta,lam,split --bulk isotropic", "one or two optimised parameters: optimise over two"),
        ("tune --r 1 --gamma 1 --alpha 1,2 --over lam", "one or two optimised parameters: give one value of alpha"),
    ],
)
def test_what_cannot_be_drawn_is_still_printed(words, said, tmp_path):
    done = run(f"{words} --plot a.png", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, run(words.partition(" --x")[0]).stdout)
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_infinite_error_says_why():
    done = run(f"predict {NET} --beta 1 --alpha 0.5,1 --lam 0")
    assert done.returncode == 0, done.stderr
    finite, infinite = done.stdout.splitlines()[-2:]
    assert "converged" in finite
    assert "inf" in infinite.split()
    assert "interpolation threshold" in infinite


@pytest.mark.parametrize(
    ("words", "model"),
    [
        ("predict --eta 1 --alpha0 2 --bias-scale 2", gs.Network("tanh", 1, 2, bias_scale=2)),
        ("predict --schedule 1:0.5,2:1", gs.Network("tanh", steps=[gs.Step(1, 0.5), gs.Step(2, 1)])),
        ("predict --r 1 --gamma 1 --readout -1:0.25,2:0.75", gs.SpikedRF("tanh", 1, 1, readout=TWO_LETTERS)),
        ("predict --r 1 --gamma 1 --readout 1:0.5:0,1:0.5:0.7", gs.SpikedRF("tanh", 1, 1, readout=TWO_BIASES)),
        ("simulate --d 40 --eta 1 --alpha0 1 --reuse-batch", gs.Network("tanh", 1, 1, reuse_batch=True)),
        ("simulate --d 40 --eta 1 --alpha0 1 --refit 0.5", gs.Network("tanh", 1, 1, refit=0.5)),
    ],
)
def test_options_describe_the_model(words, model):
    done = run(f"{words} --alpha 1 --lam 0.1 --format json")
    assert json.loads(json.loads(done.stdout)["attrs"]["model"]) == json.loads(json.dumps(model.to_dict()))


def test_several_steps_have_one_row_per_point_with_what_the_last_step_made():
    words = "--eta 1 --alpha0 0.5 --steps 1,2,3 --alpha 1,2 --lam 0.1 --bulk isotropic"
    net = gs.Network("tanh", eta=1, alpha0=0.5, steps=[1, 2, 3])
    expected = gs.predict(net, "sin", alpha=[1.0, 2.0], lam=0.1, bulk="isotropic")
    table = rows(run(f"predict {words}").stdout)
    assert [row["steps"] for row in table] == ["1", "1", "2", "2", "3", "3"]
    last = [float(expected.r.sel(steps=count, step=count)) for count in (1, 1, 2, 2, 3, 3)]
    np.testing.assert_allclose([float(row["r"]) for row in table], last, rtol=5e-5)
    stepwise = rows(run(f"predict {words} --show r,gamma").stdout)
    by_hand = [float(expected.c.sel(steps=int(row["steps"]), step=int(row["step"]))) for row in stepwise]
    np.testing.assert_allclose([float(row["c"]) for row in stepwise], by_hand, rtol=5e-5)
    simulated = run("simulate --eta 1 --alpha0 1 --steps 2 --alpha 1 --lam 0.1 --d 20 --trials 2").stdout
    assert len(simulated.splitlines()) == 3  # what does not vary, the names, one row
    assert re.search("steps = 2.*, r = ", simulated.splitlines()[0])


@pytest.mark.parametrize("verb", ["predict", "simulate --d 20 --trials 2", "compare --d 20 --trials 2"])
def test_answers_go_to_a_parquet_file(tmp_path, verb):
    parquet = pytest.importorskip("pyarrow.parquet")
    done = run(f"{verb} --eta 1 --alpha0 1 --alpha 1,2 --lam 0.1 --out {tmp_path}/a.parquet --format csv")
    assert done.returncode == 0, done.stderr
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    printed = list(csv.DictReader(io.StringIO(done.stdout)))
    column = "test_error[theory]" if "compare" in verb else "test_error"
    assert [float(row[column]) for row in printed] == table[column]
    with pytest.raises(gs.ParameterError, match=r"a \.parquet file keeps the numbers but not the labels"):
        gs.load(tmp_path / "a.parquet")


def test_letters_are_in_the_line_above_the_table_and_the_bulk_once():
    words = f"predict {NET} --readout rademacher --activation relu --alpha 1,2 --lam 1"
    head, names, *_ = run(words).stdout.splitlines()
    assert "letters -1, 1" in head
    assert "c[-1] = " in head
    assert names.split() == ["alpha", "test_error", "train_error"]
    assert run(f"predict {POINT} --bulk isotropic").stdout.count("isotropic bulk") == 1


def test_simulate_prints_means_and_writes_trials(tmp_path):
    done = run(f"simulate {NET} --alpha 1,2 --lam 0.1 --d 40 --trials 3 --seed 4 --out {tmp_path}/s.json")
    assert done.returncode == 0, done.stderr
    saved = gs.load(tmp_path / "s.json")
    assert saved.sizes["trial"] == 3
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["alpha", "test_error", "±", "test_error", "train_error", "±", "train_error"]
    mean, error = saved.test_error.mean("trial"), saved.test_error.std("trial", ddof=1) / np.sqrt(3)
    shown = [[float(word) for word in line.split()] for line in lines[2:]]
    np.testing.assert_allclose([row[1] for row in shown], mean, rtol=5e-5)
    np.testing.assert_allclose([row[2] for row in shown], error, rtol=1e-2)


def test_compare_shows_z_scores_and_a_summary(tmp_path):
    done = run(f"compare {NET} --alpha 1,2 --lam 0.1 --d 40 --trials 4 --out {tmp_path}/c.nc --plot {tmp_path}/c.svg")
    assert done.returncode == 0, done.stderr
    compared = gs.load(tmp_path / "c.nc")
    assert compared.attrs["theory_d"] == 40
    assert gs.summary(compared) in done.stdout
    z = compared.test_error.sel(part="z").values
    assert [float(line.split()[-1]) for line in done.stdout.splitlines()[2:4]] == z.round(2).tolist()
    assert (tmp_path / "c.svg").stat().st_size > 0


def test_compare_with_limit_uses_infinite_d_and_hints_once_at_the_size_where_it_misses(tmp_path):
    words = "compare --eta 0.1 --alpha0 1 --alpha 1,2 --lam 0.1 --d 40 --trials 8 --limit"
    done = run(f"{words} --out {tmp_path}/c.json")
    compared = gs.load(tmp_path / "c.json")
    limit = gs.predict(gs.Network("tanh", 0.1, 1.0), "sin", alpha=[1, 2], lam=0.1)
    assert compared.test_error.sel(part="theory").values.tolist() == limit.test_error.values.tolist()
    assert "theory at d = inf" in done.stdout
    done = run(f"{words} --bulk isotropic,exact")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("corrects for it (on the command line, leave out --limit)") == 1


def test_functions_lists_the_catalogue_and_reads_expressions():
    assert run("--version").stdout == f"giantstep {gs.__version__}\n"
    table = run("functions").stdout
    assert {"tanh", "relu", "sign", "He3"} <= {line.split()[0] for line in table.splitlines()}
    done = run(["functions", "max(x,0)", "--format", "json"])
    data = json.loads(done.stdout)["data_vars"]
    assert data["h1"]["data"] == pytest.approx([0.5])
    assert data["h0"]["data"] == pytest.approx([1 / np.sqrt(2 * np.pi)])


@pytest.mark.parametrize("columns", ["1", "20", "43", "100"])
@pytest.mark.parametrize("command", ["", "predict", "simulate", "coefficients", "functions", "demo", "sweep run"])
def test_help_is_plain_text_in_any_terminal(command, columns):
    done = run(f"{command} --help", COLUMNS=columns)
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: giantstep" in done.stdout
    assert not set(done.stdout) & set("╭│╰")
    assert columns != "100" or max(map(len, done.stdout.splitlines())) <= 100


def test_what_a_terminal_has_no_letter_for_becomes_a_question_mark():
    done = started(["functions", "tanh"], PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "square = E f?" in done.stdout


@pytest.mark.linux
def test_a_full_disk_behind_standard_output_is_one_line():
    with open("/dev/full", "w") as full:
        words = [*COMMAND, "functions", "tanh"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "error: standard output cannot be used: No space left on device; choose another place\n"


@pytest.mark.parametrize("program", [COMMAND, [sys.executable, "-m", "giantstep"]], ids=["giantstep", "module"])
@pytest.mark.parametrize("words", [f"predict {CURVE} --format csv", "predict --eta many"])
def test_a_command_that_starts_says_what_it_says_in_this_process(program, words):
    process = subprocess.run([*program, *words.split()], capture_output=True, text=True, timeout=120)
    here = run(words)
    assert (process.returncode, process.stdout, process.stderr) == (here.returncode, here.stdout, here.stderr)


REFUSED = [
    ("predict --eta -1 --alpha0 1 --alpha 1 --lam 1", "--eta -1 "),
    (f"predict {NET} --alpha nan --lam 1", "--alpha nan "),
    (f"predict --activation tanhh {POINT}", "did you mean 'tanh'"),
    (f"predict {POINT} --target qqqqqq", "; giantstep functions lists the names (column 1"),
    (f"predict {POINT} --target x+", "--target: this is not an expression"),
    (f"predict {POINT} --out /no/such/folder/a.csv", "does not exist"),
    (f"predict {CURVE} --plot /no/such/folder/a.png", "does not exist"),
    (f"predict {POINT} --out lam=3.foo", "--out lam=3.foo has the unknown ending '.foo'"),
    (f"predict {POINT} --out a.xls", ".nc or .json or .csv"),
    (f"predict {CURVE} --plot a.bmp", "--plot a.bmp has the unknown ending '.bmp'; pictures are saved as .png or .pdf"),
    (f"predict {POINT} --loss hinge", "such as 'sign', flips = 0.1, which makes"),
    (f"predict {POINT} --r 1 --gamma 1", "--eta and --alpha0, spiked random features have --r and --gamma: give one"),
    ("predict --eta 1 --alpha 1 --lam 1", "--alpha0 is missing"),
    ("predict --alpha 1 --lam 1", "--eta and --alpha0 are missing"),
    ("predict --schedule 1:1 --steps 2 --alpha 1 --lam 1", "leave the others out"),
    (f"predict {NET} --alpha 1", "--lam is missing: ridge penalty of the readout; 0: minimum norm (giantstep predict"),
    (f"predict {NET} --alpha 1 --lam", "--lam needs a value: ridge penalty"),
    ("predict --eta 1 --alpha0 1 --aplha 1 --lam 1", "--aplha is unknown: did you mean --alpha?"),
    (f"predict {POINT} --bogus 1", "--bogus is unknown here (giantstep predict"),
    (f"predict {POINT} --inptus=3", "--inptus is unknown here: did you mean --inputs?"),
    ("bayes --alpha 1 --inputs X.npy", "--inputs is unknown here (giantstep bayes"),
    (f"predict {CURVE} --reference bayes", "--reference goes with --plot FILE"),
    ("bayes --alpha 1,2 --x alpha", "--x goes with --plot FILE"),
    (f"predict {POINT} --format xml", "table"),
    ("frobnicate", "frobnicate"),
    ("predict --eta 0:1:10000000 --alpha0 0:1:10000000 --alpha 1 --lam 1", "not enough memory"),
    (f"simulate {POINT} --d 40 --trials 0", "--trials 0 "),
    (f"compare {POINT} --d 40 --trials 1", "2 trials"),
    (f"simulate {POINT} --d 1", "--d 1 "),
    (f"simulate {POINT} --d 50.5", '--d: "50.5" is not one whole number'),
    (f"simulate {POINT} --d inf", '--d: "inf" is not one whole number'),
    (f"predict {POINT} --flips 0.1,0.2", '--flips: "0.1,0.2" is not one number'),
    (f"predict {POINT} --refit 0.5 --steps 2", "simulate"),
    (f"predict {POINT} --steps 2 --reuse-batch", "(the documentation has a page on this: Questions that people ask)\n"),
    ("tune --eta 1 --alpha0 1 --over lam", "give alpha,"),
    ("tune --eta 1 --alpha0 1 --alpha 1 --over lambda", "did you mean 'lam'?"),
    ("spectrum --target x1+x1*x2 --eta 1 --alpha0 1 --bulk exact", "use bulk = 'isotropic'"),
    ("spectrum --r 1 --gamma 1 --alpha 1,2 --d 9 --trials 1", "give single numbers"),
    ("spectrum --weights --eta 1 --alpha0 2 --alpha 2", "--alpha, --kernel and --normalise n"),
    ("compare --r 1 --gamma 1 --alpha 1 --lam 1 --d 50 --bulk isotropic,exact", "trained Network"),
    ("figure basis --workers 0", "--workers 0 is not allowed: it must be a whole number, at least 1"),
    ("figure nonsense", "is not one of"),
    ("reproduce --quick --full", "exclude each other"),
    (["demo", "--out", f"{sys.executable}/a"], "cannot be used"),
]
if sys.platform == "linux":  # it tells how much memory is free, and root cannot write to /proc either
    REFUSED += [
        (f"predict {POINT} --out /proc/a.json", "cannot be written"),
        (f"simulate {POINT} --d 10000000", "GiB"),
    ]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_bad_input_gets_one_line_and_status_2(words, said, tmp_path):
    done = run(words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_a_theory_the_status_says_so_and_a_comparison_still_trains_its_networks(tmp_path):
    words = "--activation relu --target x1**2+x2**2-1.5 --flips 0.1 --alpha 1,2 --lam 0.1 --eta 1 --alpha0 1"
    predicted = run(f"predict {words} --bulk isotropic")
    assert predicted.returncode == 2
    assert "name the breakpoints" in predicted.stdout
    done = run(f"compare {words} --d 20 --trials 3 --bulk isotropic --plot c.png", cwd=tmp_path)
    assert "curved surfaces" in done.stderr
    assert "2 of 2 points failed" in done.stderr
    assert done.returncode == 2
    assert "simulated" in done.stdout
    assert (tmp_path / "c.png").exists()  # of the networks


@pytest.mark.posix
@pytest.mark.parametrize(("trial", "said"), [(0, "interrupted: "), (1, "of 100 trials")])
def test_ctrl_c_says_so_and_exits_with_130(trial, said):
    """In the first trial, which is lost, and in the second, when there is one to show."""
    words = f"simulate {POINT} --d 20 --trials 100".split()
    program = f"{CTRL_C}\nimport giantstep.cli\ngiantstep.cli.main({words})"
    done = subprocess.run([sys.executable, "-c", program, str(trial)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 130
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.posix
@pytest.mark.parametrize("picture", ["", "a.png"])
def test_a_closed_pipe_is_no_crash_and_does_not_cost_the_picture(picture, tmp_path):
    words = f"predict {NET} --alpha 1:2:5000 --lam 1 --format csv".split()
    words += ["--plot", picture] if picture else []
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, *words], cwd=tmp_path, **pipes) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ("drew a.png\n" if picture else "")
    assert [path.name for path in tmp_path.iterdir()] == ([picture] if picture else [])


def test_a_prediction_imports_nothing_large_that_it_does_not_need():
    large = ["xarray", "pandas", "scipy.special", "matplotlib", "array_api_compat", "hashlib"]
    program = f"""
import sys, giantstep.cli
try:
    giantstep.cli.main("predict {POINT}".split())
finally:
    print([name for name in {large} if sys.modules.get(name)])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "[]"


def test_whole_numbers_may_be_written_as_people_do_and_are_in_the_help():
    heading, *_ = run(f"simulate {POINT} --d 5e1 --trials 2.0").stdout.splitlines()
    assert "d = 50;" in heading
    for command, flag in (("demo", "--trials INT"), ("explore", "--port INT"), ("simulate", "--seed INT")):
        assert f"\n  {flag} " in run(f"{command} --help").stdout


def test_every_parameter_of_the_table_is_an_option_with_its_default():
    text = " ".join(run("predict --help").stdout.split())
    for name, row in PARAMETERS.items():
        if {"Network", "SpikedRF", "Target"} & set(row.of) and name not in ("function", "inputs"):
            assert f" --{name.replace('_', '-')} " in text
    for words in ("--c RANGE bulk variance: mean squared row norm without the spike (default 1)", "(default uniform)"):
        assert words in text
