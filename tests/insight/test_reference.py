"""The best possible error, ridge regression, and the parts of a test error."""

import numpy as np
import pytest
from scipy.special import ndtr

import giantstep as gs

from . import brute_force

HE3 = "(x**3 - 3*x)/sqrt(6)"
# target, alpha, overlap, error, share of wrong signs: to the digits printed, half a unit of the last one
VALUES = [
    (gs.Target("sign"), 1, 0.486263637, 0.676718937, 0.25437297),
    (gs.Target("sign"), 5, 0.932064246, 0.236012067, 0.08393517),
    (gs.Target("sign", flips=0.1), 5, 0.801184740, 0.408406822, 0.14711170),
    (gs.Target("sign", latent_noise=0.5), 2, 0.600830670, 0.589673187, 0.21768298),
    (gs.Target("logistic", scale=2), 2, 0.471038891, 0.687758285, 0.25922377),
    (gs.Target("tanh", noise=0.1), 2, 0.968730126, 0.014380107, None),
    (gs.Target("sin", noise=0.1), 1, 0.763858417, 0.123189088, None),
    (gs.Target("relu", noise=0.1), 2, 0.927387773, 0.033359311, None),
    (gs.Target("relu"), 1, 0.692793896, 0.127639847, None),
    (gs.Target("sin"), 0.5, 0.40697039, 0.27844917, None),
    (gs.Target("x**2"), 1.1, 0.69078878, 1.04562173, None),
    (gs.Target("x**2", noise=0.5), 1.5, 0.70503142, 1.00586140, None),
    (gs.Target(HE3), 0.9, 0.53327924, 0.84834245, None),
    pytest.param(gs.Target(HE3, noise=0.3), 1, 0.42297527, 0.92432631, None, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("target", "alpha", "overlap", "error", "wrong"), VALUES)
def test_overlaps_and_errors_are_those_of_an_independent_computation(target, alpha, overlap, error, wrong):
    best = gs.bayes(target, alpha=alpha)
    printed = 6e-10 if len(str(overlap)) > 10 and wrong is None and error < 0.16 else 6e-9
    estimate = float(best.quadrature_error)
    assert float(best.overlap) == pytest.approx(overlap, abs=printed + estimate)
    assert float(best.test_error) == pytest.approx(error, abs=printed + estimate * error)
    assert estimate < 1e-6
    if wrong is not None:
        assert float(best.test_error_01) == pytest.approx(wrong, abs=6e-9)


@pytest.mark.parametrize(
    ("target", "alpha", "thresholds", "tolerance"),
    [
        ("x**2", 1, {"exact": 1.0}, 1e-9),
        ("x**2", 1, {"weak": 0.5}, 1e-8),
        ("x**2", 1, {"optimal": 1.0, "amp": 1.128471}, 1e-6),
        (HE3, 1, {"amp": 1.194311}, 6e-7),
        ("sin", 1, {"amp": 1.0330}, 6e-5),
        ("sign(x**3 - 2*log(2)*x)", 1, {"weak": np.inf, "optimal": 2.72889678}, 1e-8),
        (gs.Target("x**2", noise=0.5), 0.4, {"weak": 0.541644}, 5e-6),
        (gs.Target("(x1 + x2)**2/2", noise=0.5), 0.4, {"weak": 0.541644}, 5e-6),  # the same, turned
        (gs.Target("x1*x2", noise=0.25), 0.6, {"weak": 0.63766}, 1e-5),
        (gs.Target("x1 + x1*x2", noise=0.5), 1, {"weak": 0.0}, 0.0),
    ],
)
def test_thresholds_are_those_of_an_independent_computation(target, alpha, thresholds, tolerance):
    best = gs.bayes(target, alpha=alpha)
    for name, expected in thresholds.items():
        assert float(best[f"alpha_{name}"]) == pytest.approx(expected, abs=tolerance), name


def test_the_optimum_jumps_to_the_direction_itself_before_message_passing_does():
    best = gs.bayes("x**2", alpha=[1.1, 1.2])
    np.testing.assert_array_equal(best.optimal_error, 0.0)
    np.testing.assert_allclose(best.overlap[-1], 1.0)


def test_the_sign_is_learned_as_0_442_over_alpha():
    best = gs.bayes("sign", alpha=[1e4, 1e5])
    np.testing.assert_allclose(best.test_error_01 * best.alpha, 0.44170, atol=5e-5)


def test_labels_without_low_orders_jump_at_the_equal_area_point():
    best = gs.bayes("sign(x**3 - 2*log(2)*x)", alpha=[2.7288, 2.729])
    np.testing.assert_array_equal(best.overlap, 0.0)
    assert float(best.optimal_overlap[0]) == 0.0
    assert float(best.optimal_overlap[1]) == pytest.approx(0.93318, abs=1e-4)


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_a_linear_target_is_ridge_regression(noise):
    target, alpha = gs.Target("x", noise=noise), np.array([0.3, 1.0, 4.0, 50.0])
    best, line = gs.bayes(target, alpha=alpha), gs.ridge(target, alpha=alpha)
    np.testing.assert_allclose(best.test_error, line.test_error, rtol=1e-8)
    slanted = gs.bayes(gs.Target("0.6*x1 + 0.64*x2 + 0.48*x3", noise=noise), alpha=alpha[:2])
    expected = best.overlap.values[:2, None, None] * np.outer([0.6, 0.64, 0.48], [0.6, 0.64, 0.48])
    np.testing.assert_allclose(slanted.overlap, expected, atol=1e-6)


@pytest.mark.parametrize("turn", [np.eye(2), np.array([[0.8, 0.6], [-0.6, 0.8]])], ids=["straight", "turned"])
def test_two_directions_are_found_together_from_products(turn):
    one, two = (f"({row[0]}*x1 + {row[1]}*x2)" for row in turn)
    best = gs.bayes(gs.Target(f"{one} + {one}*{two}", noise=0.5), alpha=[1, 2])
    np.testing.assert_allclose(turn @ best.overlap.values[0] @ turn.T, np.diag([0.40212, 0.24593]), atol=1e-5)
    np.testing.assert_allclose(turn @ best.overlap.values[1] @ turn.T, np.diag([0.7124, 0.5464]), atol=1e-4)
    np.testing.assert_allclose(best.test_error, [1.49899, 0.8983], atol=1.5e-4)
    assert (best.quadrature_error < 1e-3).all()


def test_even_targets_of_two_directions_have_a_threshold():
    best = gs.bayes(gs.Target("x1**2 - x2**2", noise=0.5), alpha=[0.6, 1])
    assert float(best.alpha_weak) == pytest.approx(0.63766, abs=1e-5)
    np.testing.assert_array_equal(best.overlap[0], 0.0)
    np.testing.assert_allclose(best.overlap[1], 0.160 * np.eye(2), atol=5e-4)
    assert float(best.test_error[1]) == pytest.approx(3.8979, abs=1e-4)


def test_wrong_signs_of_a_pattern_are_those_on_a_fine_grid():
    best = gs.bayes("sign((x - 0.5)*(x + 1)*(x - 2))", alpha=2)
    q = float(best.overlap)
    omega = np.sqrt(q) * np.linspace(-8, 8, 400_001)
    up = sum(sign * ndtr((omega - cut) / np.sqrt(1 - q)) for sign, cut in ((1, -1), (-1, 0.5), (1, 2)))
    weight = np.exp(-0.5 * omega**2 / q)
    wrong = float(np.minimum(up, 1 - up) @ weight / weight.sum())
    assert float(best.test_error_01) == pytest.approx(wrong, abs=1e-9)


def test_ridge_and_kernels_have_their_check_values():
    target = gs.Target("sin", noise=0.1)
    np.testing.assert_allclose(
        gs.ridge(target, alpha=[1, 2, 4]).test_error, [0.19685991, 0.11951884, 0.08726058], atol=6e-9
    )
    first, second = (gs.ridge(target, alpha=a, lam=lam, kernel="exp(x)") for a, lam in ((1, 0.1), (2, 0.5)))
    assert float(first.test_error) == pytest.approx(0.23166759, abs=6e-9)
    assert float(second.test_error) == pytest.approx(0.16705599, abs=6e-9)


def drawn(target, alpha, d, rng):
    """Direction, inputs over √d and labels of one batch."""
    theta = rng.normal(size=d)
    theta *= np.sqrt(d) / np.linalg.norm(theta)
    X = rng.normal(size=(round(alpha * d), d)) / np.sqrt(d)
    clean = np.asarray(target.function(X @ theta))
    wrong = rng.random(len(clean)) < target.flips
    return theta, X, np.where(wrong, -clean, clean) + float(target.noise) * rng.normal(size=len(clean))


@pytest.mark.parametrize(
    "target", [gs.Target("sin", noise=0.3), gs.Target("relu", noise=0.3), gs.Target("sign(x - 0.5)", flips=0.1)]
)
def test_ridge_is_what_a_fit_with_an_intercept_gives(target):
    """60 fits at d = 300, on 20,000 test points each, which add 1e-3 of the error; z-scores below 3.5."""
    d, alpha, lam, found = 300, 2.0, 0.5, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        theta, X, y = drawn(target, alpha, d, rng)
        A, mean = X - X.mean(axis=0), y.mean()
        w = np.linalg.solve(A.T @ A + lam * np.eye(d), A.T @ (y - mean))
        b = mean - X.mean(axis=0) @ w
        z, other = rng.normal(size=(2, 20_000))
        along, length = w @ theta / d, w @ w / d
        fit = b + along * z + np.sqrt(length - along**2) * other
        clean = np.asarray(target.function(z))
        found.append([np.mean((fit - clean) ** 2), np.mean(np.sign(fit) != clean)])
    theory = gs.ridge(target, alpha=alpha, lam=lam)
    for name, values in zip(["test_error", "test_error_01"][: 1 + target.binary], np.transpose(found), strict=False):
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - float(theory[name])) < 3.5 * error + 1.0 / d * values.mean()


@pytest.mark.parametrize(
    ("target", "kernel"),
    [
        (gs.Target("sign", flips=0.2), None),
        (gs.Target("sign(x - 0.5)", latent_noise=1), None),
        (gs.Target("sin", noise=2), "0.1*exp(3*x)"),
    ],
)
def test_no_penalty_is_better_than_the_best_one(target, kernel):
    best = gs.ridge(target, alpha=[0.5, 4.0], kernel=kernel)
    found = gs.ridge(target, alpha=[0.5, 4.0], kernel=kernel, lam=np.geomspace(1e-2, 1e2, 41)).test_error.min("lam")
    assert (best.test_error <= found).all()
    np.testing.assert_allclose(best.test_error, found, rtol=1e-2)


@pytest.mark.parametrize("steps", [1, 2])
def test_the_parts_sum_to_the_test_error(steps):
    net = gs.Network("tanh", eta=2, alpha0=[0, 1, 4], beta=2, steps=steps)
    parts = gs.explain(net, gs.Target("sin", noise=0.1), alpha=[1, 4], lam=0.1)
    assert (np.abs(parts.batch_noise) < 1e-12).all("alpha").values.tolist() == [True, False, False]
    np.testing.assert_allclose(parts.expressivity + parts.readout + parts.batch_noise, parts.test_error, atol=1e-9)
    np.testing.assert_allclose(parts.budget, parts.alpha + steps * parts.alpha0)
    assert (parts.bayes_error < parts.test_error).all()
    assert all("help" in sentence for sentence in parts.advice.values.flat)
    beaten = (parts.ridge_error < parts.test_error).transpose(*parts.advice.dims).values
    said = ["ridge regression on the inputs is better" in sentence for sentence in parts.advice.values.flat]
    assert beaten.any()
    assert said == beaten.ravel().tolist()


def test_a_warning_of_explain_names_verbs_because_explain_has_no_d():
    with pytest.warns(gs.LimitWarning, match=r"in the limit and .* use simulate, or predict with d="):
        gs.explain(gs.Network("tanh", eta=0.2, alpha0=1), "sin", alpha=1, lam=0.1)


def test_tuning_takes_no_step_where_that_is_best_and_says_how_good_it_is():
    target = gs.Target("sin", noise=0.1)
    net = gs.Network("tanh", eta=1, alpha0=1, beta=10)
    tuned = gs.tune(net, target, budget=[2, 4], over=("eta", "lam", "split"))
    np.testing.assert_allclose(tuned.best_error, [0.1270, 0.0610], atol=6e-5)
    assert float(tuned.best_split[0]) == 0.0
    assert float(tuned.best_alpha[0]) == 2.0
    assert float(tuned.best_split[1]) > 0.1
    np.testing.assert_allclose(tuned.ridge_error, gs.ridge(target, alpha=[2, 4]).test_error)
    np.testing.assert_allclose(tuned.bayes_error, gs.bayes(target, alpha=[2, 4]).test_error)
    assert "ridge regression on the inputs is better" in tuned.advice.values[0]
    assert "ridge" not in tuned.advice.values[1]
    assert "message passing reaches 0.00371" in tuned.advice.values[1]


def test_where_no_reference_error_is_known_tune_says_so():
    target = gs.Target("sin", noise=0.1, inputs=gs.Inputs([2.5, 0.5], masses=[0.25, 0.75]))
    tuned = gs.tune(gs.Network("tanh", eta=1, alpha0=1), target, alpha=2, over="lam")
    assert tuned.advice.item() == "ridge and bayes have no answer for this target to compare with"


@pytest.mark.parametrize(("text", "noise"), [("tanh", 0.2), ("clip(x, -1, 1)", 0.0), ("x**2", 0.0)])
def test_functions_of_ones_own_need_no_derivative(text, noise):
    f = gs.Target(text).function
    named, mine = (gs.bayes(gs.Target(one, noise=noise), alpha=[0.5, 1.2]) for one in (text, lambda z: f(z)))
    np.testing.assert_allclose(mine.test_error, named.test_error, rtol=1e-6)


# target, its noise, s = √(1 - q), F(s) and the error there, by tests/insight/brute_force.py, which shares no code
HOSTILE = [
    ("sign(x - 1)", {"flips": 0.4}, 0.25, 0.0027537321555, 0.13651049293),
    ("sign", {"latent_noise": 0.05}, 0.25, 0.17516978004, 0.22626816451),
    ("sign", {"latent_noise": 3, "flips": 0.1}, 0.25, 0.0026484774288, 0.22626816451),
    ("sign(x**2 - 1)", {"latent_noise": 0.4}, 0.25, 0.10227496361, 0.27302098438),
    ("sign(x**2 - 0.01)", {}, 0.9, 0.016125235562, 0.29277490977),
    ("sign((x-0.5)*(x+1)*(x-2))", {}, 0.25, 0.28864922368, 0.36590330424),
    ("sign(x - 4)", {}, 0.25, 6.6639476508e-05, 6.990058742e-05),
    ("sign(sin(2*x))", {}, 0.25, 0.28502627445, 0.35943525593),
    ("logistic", {"scale": 10}, 0.25, 0.14189267353, 0.22626816451),
    ("relu", {}, 0.25, 0.5894545085, 0.028898024788),
    ("relu(x+1)-2*relu(x)+relu(x-1)", {}, 0.25, 0.62431531028, 0.030422428985),
    ("x - clip(x, -0.5, 0.5)", {}, 0.25, 0.78296473804, 0.034421053745),
    ("clip(x, -1, 0.5)", {}, 0.25, 0.65599911441, 0.029804465857),
    ("abs(x) + 0.5*x", {}, 0.6, 0.69232512934, 0.31787329089),
    ("abs(abs(x) - 1)", {}, 0.9, 0.12423756777, 0.11704454118),
    ("x - 2*sign(x)", {}, 0.9, 0.60769395698, 1.7380636142),
    ("x + sign(x)", {}, 0.25, 1, 0.38850373462),
    ("sign(x) + 0.5*sign(x - 1)", {}, 0.25, 0.28718576648, 0.26074361617),
    pytest.param("(x**2-1)**2 + 0.3*x", {}, 0.6, 0.64751971969, 38.89866816, marks=pytest.mark.slow),
    ("x*exp(-x**2/2)", {}, 0.6, 0.65576940372, 0.098376932216),
    ("cos(x)", {}, 0.6, 0.58958583806, 0.12183945744),
    ("x**2", {}, 0.6, 0.59168666659, 1.1808),
    ("tanh(20*x)", {"noise": 0.3}, 0.25, 0.19154161623, 0.18990130893),
    ("tanh", {"noise": 0.02}, 0.25, 0.91713092519, 0.028477635517),
    ("sign(x) + 0.5*sign(x - 1)", {"noise": 0.3}, 0.25, 0.26592542685, 0.26074361617),
    ("sin(x**2)", {"noise": 0.3}, 0.9, 0.070237196723, 0.18223320106),
    ("exp(-((x - 1.23)/0.1)**2)", {"noise": 0.3}, 0.6, 0.022285175537, 0.020909154821),
    ("exp(-100*x**2)", {"noise": 0.1}, 0.9, 0.01962319691, 0.044871126273),
    ("sqrt(abs(x))", {"noise": 0.1}, 0.25, 0.55196360773, 0.025576065406),
    ("x**2", {"noise": 5}, 0.25, 0.009130430144, 0.2421875),
    pytest.param("relu", {"noise": 0.02}, 0.25, 0.5669854053, 0.028898024788, marks=pytest.mark.slow),
    ("abs(x)", {"noise": 0.05}, 0.25, 0.8092459282, 0.053092099154),
    pytest.param("x**3", {"noise": 1}, 0.25, 0.26402016595, 1.6186523438, marks=pytest.mark.slow),
    ("x - 2*sign(x)", {"noise": 0.2}, 0.25, 0.65355760393, 0.76810151786),
    pytest.param("exp(x)", {"noise": 1}, 0.25, 0.14834842039, 0.44768027773, marks=pytest.mark.slow),
    ("cos(x)", {"noise": 0.5}, 0.25, 0.085878193122, 0.025929280661),
    ("clip(x, 2, 3)", {"noise": 0.2}, 0.25, 0.011475092565, 0.00099787204037),
]
LARGEST = [
    ("sign(x**3 - 2*log(2)*x)", {}, 0.25, 0.33548938482, 0.45065808873),
    ("sin(5*x)", {"noise": 0.3}, 0.12, 0.45905844701, 0.15116183696),
]


@pytest.mark.parametrize(("function", "noise", "s", "F", "error"), HOSTILE)
def test_overlaps_and_errors_of_hostile_targets_are_those_of_brute_force(function, noise, s, F, error):
    """With αF = q samples per dimension, q is a fixed point: the smallest one of all these targets."""
    best = gs.bayes(gs.Target(function, **noise), alpha=(1 - s * s) / F)
    off = 1e-9 + float(best.quadrature_error)
    assert off < 1e-5
    assert float(best.overlap) == pytest.approx(1 - s * s, abs=off)
    assert float(best.test_error) == pytest.approx(error, rel=off)


@pytest.mark.parametrize(("function", "noise", "s", "F", "error"), LARGEST)
def test_overlaps_that_message_passing_does_not_reach_are_those_of_brute_force(function, noise, s, F, error):
    best = gs.bayes(gs.Target(function, **noise), alpha=(1 - s * s) / F)
    assert float(best.informed_overlap) == pytest.approx(1 - s * s, abs=1e-9)
    assert float(best.overlap) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "noise", "compute"),
    [
        ("sign(x**2 - 1)", {"latent_noise": 0.4}, lambda s: brute_force.labels(s, (-1.0, 1.0), 1.0, 0.4)),
        ("tanh", {"noise": 0.02}, lambda s: brute_force.noisy(s, np.tanh, 0.02)),
        ("abs(x)", {"noise": 0.05}, lambda s: brute_force.noisy(s, np.abs, 0.05)),
        ("abs(x) + 0.5*x", {}, lambda s: brute_force.noiseless(s, *brute_force.SLANTED)),
        ("x*exp(-x**2/2)", {}, lambda s: brute_force.noiseless(s, *brute_force.BUMPS)),
    ],
)
def test_brute_force_gives_the_numbers_of_the_table(name, noise, compute):
    rows = [row for row in HOSTILE if isinstance(row, tuple) and row[:2] == (name, noise)]
    s, F, error = rows[0][2:]
    np.testing.assert_allclose(compute(s), [F, error], rtol=1e-9)


@pytest.mark.parametrize("rate", [1, 2])
def test_targets_that_grow_fast_are_averaged_far_out(rate):
    """Without noise exp is learned as q = alpha, and its error is the variance of exp given the estimate."""
    best = gs.bayes(f"exp({rate}*x)", alpha=[0.2, 0.9])
    left = np.exp(2 * rate**2) - np.exp(rate**2 * (1 + best.alpha))
    np.testing.assert_allclose(best.test_error, left, rtol=1e-10)


def test_labels_that_hardly_ever_change_tell_nothing_and_leave_no_error():
    for target in (gs.Target("sign(x - 8)", flips=0.1), gs.Target("relu(x - 7)", noise=0.1)):
        best = gs.bayes(target, alpha=3)
        assert float(best.overlap) < 1e-9
        assert float(best.test_error) < 1e-9


@pytest.mark.slow
def test_where_both_signs_are_as_likely_up_to_rounding_half_of_them_are_wrong():
    best = gs.bayes(gs.Target(lambda z: np.sign(np.sin(12 * z))), alpha=0.5)
    assert float(best.test_error_01) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.slow
def test_a_phase_that_is_hard_for_any_number_of_samples_has_a_transition_all_the_same():
    """What a label tells without an estimate is below rounding; at the transition it does not matter."""
    best = gs.bayes(gs.Target("sin(20*x)", noise=0.5), alpha=[7.9, 8.4])
    assert np.isnan(best.alpha_amp)
    assert 7.9 < float(best.alpha_optimal) < 8.4
    assert best.optimal_overlap[0] < 1e-3
    assert best.optimal_overlap[1] > 0.9


def posterior_mean(target, y, omega, V):
    """E[z | y, ω] on a fine grid, for labels with noise or flips."""
    u = np.linspace(-7, 7, 401)
    z = omega[:, None] + np.sqrt(V) * u
    clean = np.asarray(target.function(z))
    noise = float(target.noise)
    likely = np.exp(-0.5 * ((y[:, None] - clean) / noise) ** 2) if noise else np.where(y[:, None] * clean > 0, 0.9, 0.1)
    weight = likely * np.exp(-0.5 * u**2)
    return (weight * z).sum(axis=1) / weight.sum(axis=1)


def message_passing(target, alpha, d, seed, rounds=25):
    """Overlap that approximate message passing reaches at finite size."""
    theta, X, y = drawn(target, alpha, d, np.random.default_rng(seed))
    estimate, g, V, information = np.zeros(d), np.zeros(len(y)), 1.0, 0.0
    for turn in range(rounds):
        omega = X @ estimate - V * g
        g = (posterior_mean(target, y, omega, V) - omega) / V
        new = alpha * np.mean(g**2)
        information = new if turn < 4 else 0.5 * (new + information)
        estimate = (X.T @ g + information * estimate) / (1.0 + information)
        V = 1.0 / (1.0 + information)
    return estimate @ theta / d


@pytest.mark.slow
def test_message_passing_at_finite_size_reaches_its_overlap():
    """Five runs of 1500 inputs for each setting. Their z-scores have mean square 4/2 (Student's t, 4 degrees)."""
    settings = [
        (gs.Target("sign", flips=0.1), [1, 2, 5]),
        (gs.Target("tanh", noise=0.1), [0.5, 1, 2]),
        (gs.Target("relu", noise=0.1), [0.5, 1, 2]),
        (gs.Target("sin", noise=0.1), [0.5, 1, 1.5]),
    ]
    z = []
    for target, alphas in settings:
        theory = gs.bayes(target, alpha=alphas).overlap.values
        for alpha, overlap in zip(alphas, theory, strict=True):
            runs = [message_passing(target, alpha, 1500, seed) for seed in range(5)]
            z.append((np.mean(runs) - overlap) / (np.std(runs, ddof=1) / np.sqrt(5)))
    print("z of message passing:", np.round(z, 2), "rms", np.sqrt(np.mean(np.square(z))))
    assert np.sqrt(np.mean(np.square(z))) < 2.2
    assert np.median(np.abs(z)) < 1.5


@pytest.mark.parametrize("target", ["tanh", "tanh(50*x)", "1/(1 + exp(-30*x))", "erf(20*x)"])
def test_injective_links_without_noise_reveal_all_that_a_label_can(target):
    """The overlap is alpha, whatever the link. Tails of steep ones are equal in double precision, but not in truth."""
    best = gs.bayes(target, alpha=[0.5, 0.9, 1.5])
    np.testing.assert_allclose(best.overlap, [0.5, 0.9, 1.0], rtol=1e-8)
    assert float(best.alpha_exact) == pytest.approx(1.0, abs=1e-9)
