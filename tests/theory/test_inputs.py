"""Inputs with a covariance against an independent derivation: check values, to 1e-7, of all that a first layer is."""

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.bulk import TrainedBulk
from giantstep.theory.problem import Problem, model_grid, pose

PRINTED = 1e-7  # relative to the largest of a kind: values are printed with eight decimals
MIX, PRODUCT, SHIFTED = "(x**2 - 1)/2 + x", "x1 + x1*x2", "tanh(x + 0.5)"
A, B = ((2.5, 0.5), (0.25, 0.75)), ((3, 1, 0.2), (0.1, 0.6, 0.3))  # eigenvalues and masses
TOGETHER = [[[0.5, 0.3], [0.3, 0.4]], [[0.5, -0.3], [-0.3, 0.6]]]  # two directions that share eigenvalues
ON_THREE = [[[0.5, 0.2], [0.2, 0.2]], [[0.3, -0.1], [-0.1, 0.5]], [[0.2, -0.1], [-0.1, 0.3]]]


def network(activation, steps, beta=1.0, **options) -> gs.Network:
    schedule = [gs.Step(eta, alpha0) for eta, alpha0 in steps]
    return gs.Network(activation, steps=schedule, beta=beta, **options)


def target(function, spectrum, shares, noise=0.0) -> gs.Target:
    return gs.Target(function, noise=noise, inputs=gs.Inputs(spectrum[0], masses=spectrum[1], shares=shares))


def posed(net: gs.Network, y: gs.Target) -> tuple[Problem, TrainedBulk]:
    problem = pose(net, y, model_grid(net, y, alpha=1.0, lam=1.0))
    bulk = problem.bulks(np.arange(1))[0]
    assert isinstance(bulk, TrainedBulk)
    return problem, bulk


def errors(net, y, readout, **options) -> list[float]:
    found = gs.predict(net, y, alpha=readout[0], lam=readout[1], **options)
    return [float(found[name]) for name in ("test_error", "train_error")]


def same(found, expected) -> None:
    found, expected = np.ravel(found), np.ravel(expected)
    assert np.abs(found - expected).max() <= PRINTED * max(1.0, np.abs(expected).max())


# activation, target, spectrum, shares, (eta, alpha0), beta, (alpha, lam), noise
ONE_STEP = {
    "no step": ("tanh", "tanh", A, (0.9, 0.1), (0, 1), 1, (1.5, 0.1), 0),
    "tanh": ("tanh", "sin", A, (0.5, 0.5), (2, 1), 1, (1.5, 0.1), 0),
    "relu": ("relu", "tanh", A, (0.3, 0.7), (1.5, 1), 1, (1.5, 0.1), 0),
    "gelu, noise": ("gelu", "relu", B, (0.6, 0.2, 0.2), (1.5, 2), 1, (1.5, 0.01), 0.2),
    "not odd, noise": (SHIFTED, MIX, A, (0.5, 0.5), (1, 1), 1, (3, 0.3), 0.3),
    "erf, four blocks": (
        "erf", "sin", ((4, 2, 1, 0.5), (0.05, 0.15, 0.3, 0.5)), (0.4, 0.3, 0.2, 0.1), (3, 0.5), 0.7, (0.5, 0.3), 0.3,
    ),
}  # fmt: skip
# c, r; gamma; variance of norms, F, -F', tr C²/d; the forms L and (tL)' at t = ½; errors; at d = 600; q2, psi, chi, m;
# with averaged rows; with Gaussian rows
ONE_STEP_VALUES = {
    "no step": (
        (1.0, 0.0),
        (0.0,),
        (1.5, 0.57777778, 0.42864198, 1.75),
        (0.0, 0.0, 0.0, 1.04, 0.0, 1.5),
        (0.0, 0.0, 0.0, 0.47644444, 0.0, 1.5),
        (0.12127534, 0.04415923),
        (0.12127534, 0.04415923),
        (0.46922699, 0.73395678, 0.0, 0.0),
        (0.12127534, 0.04415923),
        (0.12127534, 0.04415923),
    ),
    "tanh": (
        (1.29513867, 1.692593),
        (0.65115293,),
        (10.62047725, 0.63497696, 0.54055532, 3.52154937),
        (1.38397717, -0.07589177, -1.40332369, 0.682538, -0.17361323, 7.42344577),
        (0.41088802, 0.00035456, -0.46702759, 0.37398501, -0.17241559, 6.36008243),
        (0.21093281, 0.08410243),
        (0.21112495, 0.0841741),
        (0.48222221, 0.46576307, 0.07860704, 0.71331609),
        (0.20821196, 0.08307418),
        (0.21091612, 0.08408901),
    ),
    "relu": (
        (0.937211, 0.98379842),
        (0.50793642,),
        (2.34154229, 0.53006624, 0.38607554, 1.91530727),
        (1.09081423, -0.0875636, 0.0, 0.57081026, 0.0, 2.34154229),
        (0.43183735, -0.01868612, 0.0, 0.35324241, 0.0, 2.34154229),
        (0.31667366, 0.14197678),
        (0.3167046, 0.14197806),
        (0.54161217, 0.34518487, -0.13461483, 0.1698669),
        (0.32575514, 0.14394269),
        (0.31593482, 0.14158954),
    ),
    "gelu, noise": (
        (1.41376931, 1.01869751),
        (0.78224889,),
        (4.84861737, 0.63340776, 0.55657481, 5.90527857),
        (1.66435793, -0.05297658, 0.0, 0.57788062, 0.0, 4.84861737),
        (0.24071121, 0.01564091, 0.0, 0.30867111, 0.0, 4.84861737),
        (0.30365344, 0.03752213),
        (0.304913, 0.03766232),
        (0.91287598, 0.2688596, -0.025299, 0.77771861),
        (0.30058675, 0.03637198),
        (0.30357869, 0.03751738),
    ),
    "not odd, noise": (
        (1.49506373, 1.39768693),
        (0.60313179,),
        (8.69101067, 0.65561599, 0.58977553, 5.55718364),
        (1.39870584, -0.09147553, -0.82546716, 0.72480641, -0.10403408, 7.29019034),
        (0.38493818, 0.00617551, -0.28620081, 0.36986617, -0.10649355, 6.81925663),
        (1.10664206, 0.88951499),
        (1.1069208, 0.88977631),
        (0.92134915, 0.66080186, 0.11748956, 1.00103049),
        (1.09205372, 0.87880754),
        (1.10663582, 0.88939327),
    ),
    "erf, four blocks": (
        (5.60538777, 5.81670477),
        (0.67931338,),
        (367.50421303, 0.8486331, 0.98637577, 211.31668911),
        (1.91754747, -0.02150906, -1.4252675, 1.09940445, -0.32811245, 340.85314988),
        (0.07279333, 0.01626353, -0.13347488, 0.34992343, -0.07368686, 338.75679873),
        (0.26778938, 0.18751344),
        (0.26805732, 0.18763772),
        (0.11670371, 0.30860896, 0.59538524, 0.5499951),
        (0.25618076, 0.18140575),
        (0.26753978, 0.18737565),
    ),
}  # without a step there is no direction of a spike, and forms on it are 0 here


@pytest.mark.parametrize("case", ONE_STEP)
def test_one_step_on_inputs_with_a_covariance_has_the_values_of_an_independent_derivation(case):
    activation, function, spectrum, shares, step, beta, readout, noise = ONE_STEP[case]
    scalars, gamma, traces, forms, moved, exact, sized, means, averaged, gaussian = ONE_STEP_VALUES[case]
    net, y = network(activation, [step], beta), target(function, spectrum, shares, noise)
    found = gs.predict(net, y, alpha=readout[0], lam=readout[1])
    same([found.c, found.r], scalars)
    same(found.gamma, gamma)
    bulk = posed(net, y)[1]
    at = bulk.resolvent(np.full((1, 1, 1, 1), 0.5))
    variance = bulk.free.forms()[0, 0, -1, 0, -1, 0]
    same([variance, at.T.item(), at.slopes[0].item(), bulk.norm_overlap().item()], traces)
    here, slope = at.forms()[0, 0, :, 0, :, 0], at.form_slopes[0, 0, 0, :, 0, :, 0]
    same(here[np.triu_indices(3)], forms)
    same((here + 0.5 * slope)[np.triu_indices(3)], moved)
    same([found[name] for name in ("test_error", "train_error")], exact)
    same([found[name] for name in ("q2", "psi", "chi", "m")], means)
    same(errors(net, y, readout, d=600), sized)
    same(errors(net, y, readout, bulk="isotropic"), averaged)
    same(errors(network(activation, [step], beta, rows="gaussian"), y, readout), gaussian)


TWO_STEPS = {
    "tanh": ("tanh", "sin", A, (0.5, 0.5), [(1.5, 1), (1, 1)]),
    "relu": ("relu", "tanh", A, (0.3, 0.7), [(1, 1), (0.7, 1)]),
    "not odd": (SHIFTED, MIX, ((2, 0.5), (1 / 3, 2 / 3)), (0.5, 0.5), [(1, 1), (0.7, 1)]),
}
# c, r, gamma after each step; F and -F', and the forms, at t = ½; errors with exact and averaged rows
TWO_STEP_VALUES = {
    "tanh": (
        (1.1660155, 1.33414394),
        (1.26944475, 1.23162593),
        (0.65115293, 0.760254),
        (0.63669862, 0.54780514),
        (1.27479074, -0.13768258, -1.3878149, 0.64534788, -0.14462007, 5.90350436),
        (0.15825933, 0.05823139),
        (0.158674, 0.05805464),
    ),
    "relu": (
        (0.78641301, 0.63097149),
        (0.65586561, 0.58894337),
        (0.50793642, 0.62482979),
        (0.43297012, 0.24280084),
        (0.58452663, -0.05085009, 0.02189623, 0.5017563, 0.01498574, 0.62211432),
        (0.29488186, 0.14191146),
        (0.30269973, 0.14282571),
    ),
    "not odd": (
        (1.40834559, 1.54977409),
        (1.19295346, 1.27218088),
        (0.58886722, 0.69545616),
        (0.69951125, 0.64362649),
        (1.1631643, -0.15713888, -0.8526087, 0.7041431, -0.07409172, 5.54513894),
        (1.23798575, 0.59856967),
        (1.22809857, 0.59409334),
    ),
}


@pytest.mark.parametrize("case", TWO_STEPS)
def test_two_steps_on_inputs_with_a_covariance_have_the_values_of_an_independent_derivation(case):
    activation, function, spectrum, shares, steps = TWO_STEPS[case]
    c, r, gamma, traces, forms, exact, averaged = TWO_STEP_VALUES[case]
    net, y = network(activation, steps), target(function, spectrum, shares)
    found = gs.predict(net, y, alpha=1.5, lam=0.1)
    for name, expected in (("c", c), ("r", r), ("gamma", gamma)):
        same(found[name], expected)
    at = posed(net, y)[1].resolvent(np.full((1, 1, 1, 1), 0.5))
    same([at.T.item(), at.slopes[0].item()], traces)
    same(at.forms()[0, 0, :, 0, :, 0][np.triu_indices(3)], forms)
    same(errors(net, y, (1.5, 0.1)), exact)
    same(errors(net, y, (1.5, 0.1), bulk="isotropic"), averaged)


# activation, target, spectrum, shares, letters, fractions, biases, steps, beta, noise, rows
GENERAL = {
    "letters of two signs": ("relu", "tanh", A, (0.3, 0.7), (-1, 1), (0.5, 0.5), None, [(1.5, 1)], 1, 0, "unit"),
    "letters of two sizes": (
        "relu", MIX, B, (0.6, 0.2, 0.2), (0.5, 1.5), (0.5, 0.5), None, [(1, 1)], 1, 0.2, "unit",
    ),
    "two signs, two steps": (
        "relu", "tanh", A, (0.3, 0.7), (-1, 1), (0.5, 0.5), None, [(1.5, 1), (1, 1)], 1, 0, "unit",
    ),
    "not odd, noise, two steps": (
        SHIFTED, MIX, A, (0.5, 0.5), (-1, 1), (0.4, 0.6), None, [(0.8, 1), (0.7, 1)], 0.8, 0.3, "unit",
    ),
    "two directions together": ("tanh", PRODUCT, A, TOGETHER, (1,), (1,), None, [(1, 2)], 1, 0, "unit"),
    "two directions, two signs, two steps": (
        "relu", PRODUCT, A, ((0.8, 0.2), (0.2, 0.8)), (-1, 1), (0.5, 0.5), None, [(1.2, 2), (1, 2)], 1, 0, "unit",
    ),
    "two directions together, two steps": (
        "relu", PRODUCT, A, TOGETHER, (1,), (1,), None, [(1, 2), (0.7, 2)], 1, 0, "unit",
    ),
    "three steps": (
        "gelu", "sin", A, (0.4, 0.6), (-1, 1), (0.5, 0.5), None, [(1.2, 1), (1, 1), (0.8, 1)], 1, 0, "unit",
    ),
    "biases, gaussian rows": (
        "relu", "tanh", A, (0.3, 0.7), (1, 1), (0.5, 0.5), (-0.5, 0.5), [(1, 1), (0.8, 1)], 1, 0, "gaussian",
    ),
    "everything": (
        "gelu", PRODUCT, B, ON_THREE, (-1, 0.5), (0.4, 0.6), (0, 0.3), [(1, 2), (0.8, 1.5)], 0.8, 0, "gaussian",
    ),
}  # fmt: skip
# c; Σ; Γ; c̄ on the eigenvalues; at Ṽ = (½ 0.2; 0.2 0.4): T̂; tr C_s C_t/d; forms on spikes, of spikes with norms, on
# norms, of the target's first and last direction; errors and q2; those at d = 600; m and chi there; errors and q2 there
# with averaged rows
GENERAL_VALUES = {
    "letters of two signs": (
        (1.38813364, 1.38813364),
        (0.81119118, -0.81119118, 0.81119118),
        (-0.49970705, 0.49970705),
        (1.55447663, 1.11089533, 1.55447663, 1.11089533),
        (0.61974868, -0.09960668, 0.68151651),
        (6.08866194, 2.62935225, 6.08866194),
        (1.02631487, 0.25829898, 1.19289544),
        (0.0, 0.0, 0.0, 0.0),
        (4.28437077, 0.0, 4.28437077),
        (0.68683391, -0.11949914, 0.76511912),
        (0.26517142, 0.07636415, 0.41775417),
        (0.26599713, 0.07660378, 0.41991793),
        (-0.47067468, 0.47067468),
        (0.0, 0.0),
        (0.26450834, 0.07426497, 0.40855949),
    ),
    "letters of two sizes": (
        (0.93675339, 1.99746197),
        (0.5545466, 1.66363979, 4.99091936),
        (0.53125, 1.59375),
        (0.89634855, 0.95170695, 0.98924198, 3.05129209, 1.56008095, 1.10212154),
        (0.54561027, -0.1045092, 0.6964547),
        (2.30911593, 7.53085664, 32.03207545),
        (0.86760233, -1.17275972, 12.00318569),
        (0.0, 0.0, 0.0, 0.0),
        (1.2868537, 0.0, 19.69920911),
        (1.13962973, -0.43981116, 1.61370685),
        (0.84059735, 0.24249276, 1.31064063),
        (0.85211737, 0.24723356, 1.38267518),
        (-3.40588524, 1.62953885),
        (-0.02298448, 0.04555528),
        (0.8575169, 0.23622196, 1.26574056),
    ),
    "two signs, two steps": (
        (1.48918294, 1.48918294),
        (0.74283286, -0.6873166, 0.74283286),
        (-0.60002702, 0.60002702),
        (1.69883277, 1.13976655, 1.69883277, 1.13976655),
        (0.62518499, -0.10013947, 0.6892498),
        (7.71487636, 2.85098487, 7.71487636),
        (0.88134422, 0.19579415, 1.02072078),
        (-0.0798939, -0.00172275, -0.00158739, -0.09390981),
        (5.48982939, -0.01005331, 5.50420095),
        (0.69431132, -0.12085384, 0.77489912),
        (0.19995275, 0.05700517, 0.30694998),
        (0.20157317, 0.05747184, 0.31104194),
        (-0.63220546, 0.63220546),
        (-0.01444523, 0.01444523),
        (0.20084203, 0.05576275, 0.30310988),
    ),
    "not odd, noise, two steps": (
        (1.35028232, 1.52856752),
        (2.33182585, -2.20594107, 2.13230565),
        (-1.11252471, 1.04903628),
        (1.49818944, 1.10377045, 1.75778698, 1.14653509),
        (0.62808097, -0.12527771, 0.7517929),
        (6.291128, 4.88452628, 6.31089895),
        (3.31617827, 0.97463206, 3.41625599),
        (-1.59866795, -0.38181583, -0.40271237, -1.57320665),
        (8.00173631, 0.24733611, 8.45657878),
        (0.9387951, -0.22763141, 0.99588995),
        (0.98577037, 0.58943354, 1.64093457),
        (0.98725842, 0.5900766, 1.64906666),
        (-1.01375121, 0.51085793),
        (0.01287098, 0.29174829),
        (0.99570787, 0.5912193, 1.63767454),
    ),
    "two directions together": (
        (1.17066654,),
        (1.83439582,),
        (0.90855826, 0.36342331),
        (1.24380935, 1.04876187),
        (0.61207605,),
        (2.73274192,),
        (2.48680779,),
        (-1.57670333,),
        (4.90905433,),
        (0.2657485,),
        (1.64308627, 0.79546487, 2.35760032),
        (1.64382145, 0.79578633, 2.3616155),
        (1.40716502,),
        (0.2553944,),
        (1.64691719, 0.79695876, 2.35407059),
    ),
    "two directions, two signs, two steps": (
        (1.75028752, 1.75028752),
        (3.37249251, -2.84188249, 3.37249251),
        (-1.5525, 0.22402656, 1.5525, 0.22402656),
        (2.07183932, 1.21436786, 2.07183932, 1.21436786),
        (0.65462682, -0.11592432, 0.72543865),
        (12.83442654, 5.21920613, 12.83442654),
        (5.77203674, 1.66320406, 6.93399628),
        (-0.73180978, -0.06083251, -0.04885862, -0.88329573),
        (9.9084705, -0.04547317, 9.9669782),
        (-0.21341591, -0.03377394, 0.27554316),
        (1.34671278, 0.34989783, 1.53889017),
        (1.34730687, 0.35005549, 1.54140022),
        (-0.41668012, 0.41668012),
        (0.11757033, -0.11757033),
        (1.41045912, 0.34196125, 1.49827914),
    ),
    "two directions together, two steps": (
        (0.77725967,),
        (1.36489904,),
        (0.86962375, 0.4063408),
        (0.69897297, 0.90773749),
        (0.46355804,),
        (1.58130963,),
        (1.74406673,),
        (-0.02919493,),
        (1.4673964,),
        (0.43191983,),
        (1.63250588, 0.81192469, 2.14859872),
        (1.63250981, 0.81191919, 2.14872244),
        (0.09241813,),
        (-0.26321831,),
        (1.73940175, 0.83051457, 2.18843333),
    ),
    "three steps": (
        (1.37146923, 1.37146923),
        (0.79625057, -0.72655841, 0.79625057),
        (-0.70147466, 0.70147466),
        (1.53081686, 1.10588986, 1.53081686, 1.10588986),
        (0.58475086, -0.07861694, 0.64290032),
        (6.91641251, 1.83063104, 6.91641251),
        (0.84669893, 0.14551452, 0.97586583),
        (-0.11970418, -0.00032279, 0.00031882, -0.13834093),
        (5.63899234, -0.01884477, 5.65531021),
        (0.70097919, -0.10879312, 0.78538709),
        (0.21603031, 0.06105763, 0.29134583),
        (0.21776552, 0.06156653, 0.29592016),
        (-0.64685417, 0.64685417),
        (-0.01893848, 0.01893848),
        (0.2196201, 0.05957731, 0.28889574),
    ),
    "biases, gaussian rows": (
        (0.59248815, 0.63114995),
        (0.14766086, 0.32104528, 0.73095746),
        (0.21222935, 0.51504887),
        (0.45542315, 0.82092981, 0.50227074, 0.84594863),
        (0.42661505, -0.05054261, 0.469921),
        (0.55704857, 0.59260476, 0.65901596),
        (0.08799405, -0.02964481, 0.46750787),
        (0.04260465, 0.00306694, -0.01313135, -0.05895581),
        (1.1596366, 0.00190354, 1.2730694),
        (0.48660873, -0.06413771, 0.51774093),
        (0.27080897, 0.12677261, 0.5653305),
        (0.27497695, 0.13527512, 0.60228482),
        (-3.35583438, 0.81458555),
        (-0.03477125, -0.08229482),
        (0.28752511, 0.13945431, 0.60530476),
    ),
    "everything": (
        (1.78254993, 1.13772567),
        (3.23174278, -2.26093876, 2.23590305),
        (-1.33270404, -0.02705318, 1.15590724, 0.39410355),
        (2.50829842, 1.4882794, 1.09651291, 1.2609473, 1.08811598, 1.01771439),
        (0.64187156, -0.09111631, 0.64756847),
        (15.27084211, 2.5192167, 3.33375839),
        (5.16477962, 1.07364607, 4.15641286),
        (-0.59003836, -0.20742372, 0.11572425, -0.98368957),
        (16.270716, -0.05956784, 5.34697148),
        (0.05101544, -0.14702342, 0.57253336),
        (1.55439023, 0.51209393, 1.72072917),
        (1.55526531, 0.51238092, 1.7237537),
        (-0.42584852, 0.37173558),
        (-0.01552703, -0.20188275),
        (1.61969299, 0.51335177, 1.67351484),
    ),
}


def general(case) -> tuple[gs.Network, gs.Target]:
    activation, function, spectrum, shares, values, weights, biases, steps, beta, noise, rows = GENERAL[case]
    net = network(activation, steps, beta, rows=rows, readout=gs.Letters(values, weights, biases=biases))
    return net, target(function, spectrum, shares, noise)


@pytest.mark.parametrize("case", GENERAL)
def test_letters_steps_and_directions_on_inputs_with_a_covariance_have_the_forms_of_an_independent_derivation(
    case,
):
    c, gram, on_target, rows, T, overlap, spikes, with_norms, norms, signals, *_ = GENERAL_VALUES[case]
    net, y = general(case)
    problem, bulk = posed(net, y)
    layer = problem.first_layers.layer
    K, upper = layer.c.shape[1], np.triu_indices(layer.c.shape[1])
    same(layer.c, c)
    same(layer.gram[0][upper], gram)
    same(layer.on_target, on_target)
    same(layer.row_covariance, rows)
    at = bulk.resolvent(np.array([[0.5, 0.2], [0.2, 0.4]])[None, None, :K, :K])
    same(at.T[0, 0][upper], T)
    same(bulk.norm_overlap()[0][upper], overlap)
    frame, G = layer.frame(), at.forms()[0, 0]
    S, k, b = frame.spikes, y.directions, frame.b[0]
    theta = np.zeros((k, S + k))  # the target's directions in terms of d̂ and ê
    met = min(S, k)
    theta[:met, :met] = np.diag(frame.gamma[0, :met])
    theta[:, S:] = np.diag(frame.rho[0])
    theta = frame.turn[0] @ theta
    same(np.einsum("sj,jskt,tk->st", b, G[:S, :, :S], b)[upper], spikes)
    same(np.einsum("sj,jst->st", b, G[:S, :, S + k]), with_norms)
    same(G[S + k, :, S + k][upper], norms)
    directions = G[: S + k, :, : S + k]
    same(np.einsum("i,isjt,j->st", theta[0], directions, theta[-1])[upper], signals)


@pytest.mark.parametrize(
    "case", [pytest.param(one, marks=[pytest.mark.slow] * (one == "three steps")) for one in GENERAL]
)
def test_letters_steps_and_directions_on_inputs_with_a_covariance_have_the_errors_of_an_independent_derivation(
    case,
):
    *_, exact, sized, m, chi, averaged = GENERAL_VALUES[case]
    net, y = general(case)

    def answers(**options):
        found = gs.predict(net, y, alpha=1.5, lam=0.1, **options)
        return found, [float(found.test_error), float(found.train_error), float(found.q2.sum())]

    same(answers()[1], exact)
    found, values = answers(d=600)
    same(values, sized)
    same(found.m, m)
    same(found.chi, chi)
    same(answers(d=600, bulk="isotropic")[1], averaged)


@pytest.mark.slow
def test_three_letters_and_three_steps_with_kinks_agree_with_networks_at_d_4000():
    """The rule in κ is larger than a block of work here. Networks: 24 of them in docs/networks_at_scale.md."""
    letters = gs.Letters((-1, 0, 1), (0.25, 0.5, 0.25))
    net = gs.Network(
        "max(x, 0.1*x)", eta=0.4835, alpha0=0.798, beta=0.987, steps=3, rows="gaussian", readout=letters
    )
    target = gs.Target("tanh(x1)*x2 + x1", inputs=gs.Inputs.power_law(0.2, d=4000, source=2.9))
    error = float(gs.predict(net, target, alpha=2.925, lam=0.058, d=4000).test_error)
    assert abs(error - 0.6276) < 4 * 0.0021


def test_equal_eigenvalues_are_isotropic_inputs_at_finite_d_too():
    net = gs.Network("tanh", eta=2, alpha0=1)
    equal = gs.Target("sin", inputs=gs.Inputs([1, 1, 1], masses=[0.2, 0.3, 0.5]))
    errors = [float(gs.predict(net, y, alpha=1, lam=0.1, d=100).test_error) for y in ("sin", equal)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-13)
