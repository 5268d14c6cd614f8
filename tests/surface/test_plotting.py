"""Pictures are drawn without a display and without warnings, and show what they should."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import giantstep as gs
from giantstep.answers.quantities import describe
from giantstep.plotting import save_figure


def made(sizes: dict[str, int], trials: int = 0, name: str = "test_error") -> xr.Dataset:
    """A Dataset of the given dimensions, with the labels that predict and simulate give."""
    shape = ((trials,) if trials else ()) + tuple(sizes.values())
    dims = (("trial",) if trials else ()) + tuple(sizes)
    values = 1.0 + np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)
    dataset = xr.Dataset({name: (dims, values)}, {dim: 1.0 + np.arange(size) for dim, size in sizes.items()})
    for variable in dataset.variables:
        dataset[variable].attrs.update(describe(str(variable)))
    return dataset


def labels(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def plot(*args, **options):
    """Draw for good: some complaints of matplotlib come only then."""
    axes = gs.plot(*args, **options)
    axes.figure.draw_without_rendering()
    return axes


def test_the_longest_dimension_is_x_and_the_others_make_the_lines():
    dataset = made({"alpha0": 3, "alpha": 7, "lam": 2})
    axes = plot(dataset)
    assert axes.get_xlabel().endswith(r"$\alpha$")
    assert r"$\epsilon_g$" in axes.get_ylabel()
    assert labels(axes)[0] == r"$\alpha_0 = 1$, $\lambda = 1$"
    drawn = [line.get_ydata() for line in axes.get_lines()]
    np.testing.assert_array_equal(drawn, dataset.test_error.transpose("alpha0", "lam", "alpha").values.reshape(6, 7))


def test_x_and_y_can_be_chosen_and_have_defaults():
    axes = plot(made({"alpha0": 3, "alpha": 7}, name="q1"), x="alpha0", y="q1")
    assert len(axes.get_lines()) == 7
    assert r"\alpha_0" in axes.get_xlabel()
    signs = made({"alpha": 3}).assign(test_error_01=("alpha", [0.3, 0.2, 0.1]))
    axes = plot(signs)  # of labels ±1 the share of wrong signs
    np.testing.assert_array_equal([line.get_ydata() for line in axes.get_lines()], [[0.3, 0.2, 0.1]])
    assert axes.get_legend() is None  # which a single line does not need
    bounds = gs.bounds(gs.SpikedRF("tanh", r=[0.5, 1.0], gamma=1.0), "sin")
    assert labels(plot(bounds)) == ["upper", "lower"]
    level = plot(bounds, y=["upper", "linear"]).get_lines()[1]  # what does not depend on x
    assert level.get_ydata().tolist() == [gs.linear_error("sin")] * 2


def test_simulations_are_points_with_standard_errors():
    dataset = made({"alpha": 5, "alpha0": 2}, trials=4)
    bars, _ = plot(dataset).containers
    points, _, (segments,) = bars.lines
    assert points.get_linestyle() == "None"
    trials = dataset.test_error.isel(alpha0=0)
    np.testing.assert_allclose(points.get_ydata(), trials.mean("trial"))
    half = [np.ptp(segment[:, 1]) / 2 for segment in segments.get_segments()]
    np.testing.assert_allclose(half, trials.std("trial", ddof=1) / 2.0)


def test_comparisons_have_a_panel_of_residuals_and_lie_on_smooth_curves():
    simulation = made({"alpha": 5, "alpha0": 2}, trials=4).assign_attrs(d=100)
    theory, fine = made({"alpha": 5, "alpha0": 2}), made({"alpha": 90, "alpha0": 2})
    compared = gs.compare(theory, simulation)
    axes = plot(compared, theory=fine)
    above, below = axes.figure.axes
    assert above is axes
    assert sorted(len(np.atleast_1d(line.get_xdata())) for line in above.get_lines())[-2:] == [90, 90]
    assert labels(axes)[-2:] == ["theory, limit $d = \\infty$", "simulated, $d = 100$: mean ± s.e., 4 trials"]
    assert labels(plot(compared.isel(alpha0=0))) == labels(axes)[-2:]
    z = [line.get_ydata() for line in below.get_lines() if len(line.get_xdata()) == 5]
    np.testing.assert_allclose(z, compared.test_error.sel(part="z").transpose("alpha0", "alpha"))
    theory = theory.assign_coords(d=100.0)
    sized = plot(gs.compare(theory, simulation))
    assert labels(sized)[-2] == "theory, $d = 100$"
    assert ["d = 100" in each.get_title(loc="left") for each in (sized, plot(theory))] == [False, True]


def test_several_quantities_share_a_picture_and_keep_their_names():
    dataset = gs.coefficients(gs.SpikedRF("tanh", r=[1.0, 3.0], gamma=1.0), np.linspace(-2, 2, 9))
    axes = plot(dataset)
    assert len(axes.get_lines()) == 6
    assert labels(axes)[0] == r"$\mu_0$, $r = 1$"


def test_infinite_values_leave_gaps():
    dataset = made({"lam": 6})
    dataset["test_error"][2] = np.inf
    (line,) = plot(dataset).get_lines()
    assert np.isnan(line.get_ydata()).tolist() == [False, False, True, False, False, False]


@pytest.mark.parametrize("count", [4, 12])
def test_curves_differ_in_style_as_well_as_in_colour(count):
    lines = plot(made({"alpha0": count, "alpha": 20})).get_lines()
    assert len({str(line.get_color()) for line in lines}) == count
    assert [line.is_dashed() for line in lines[:4]] == [False, True, True, True]
    points = [bars.lines[0] for bars in plot(made({"alpha0": count, "alpha": 5}, trials=2)).containers]
    assert len({each.get_marker() for each in points[:4]}) == 4


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_figures_are_saved_by_their_ending(ending, start, tmp_path):
    save_figure(plot(made({"alpha": 3})).figure, tmp_path / f"a.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: plot(made({})), "single number"),
        (lambda: plot(made({"alpha": 3}), x="lam"), "it has alpha"),
        (lambda: plot(made({"alpha": 3}), y="accuracy"), "it has test_error"),
        (lambda: plot(made({"alpha": 50, "lam": 41})), "41 curves are too many"),
        (lambda: plot(made({"alpha": 3}), theory=made({"alpha": 3, "lam": 2})), "theory has 2 curves"),
        (lambda: plot(made({"alpha": 3}) * np.nan), "nothing to draw"),
        (lambda: plot(made({"alpha": 3}).test_error), r"a DataArray has lost the one that it is from"),  # type: ignore[arg-type]
        (lambda: plot([1.0, 2.0]), "is not an xarray.Dataset"),  # type: ignore[arg-type]
        (lambda: plot(gs.spectrum(gs.SpikedRF("tanh", r=1, gamma=1), alpha=[1, 2])), "shows one of them"),
        (lambda: plot(made({"lam": 3}, name="landscape"), theory=made({"lam": 3})), "theory is for curves"),
        (lambda: plot(learned_plane(beta=[1.0, 2.0])), "one setting"),
        (lambda: plot(learned_plane(), ax=Figure().add_subplot()), "ax is for one panel"),
        (lambda: save_figure(plot(made({"alpha": 3})).figure, "a.bmp"), "unknown ending"),
        (lambda: save_figure(plot(made({"alpha": 3})).figure, "/no/such/a.png"), "does not exist"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, said):
    with pytest.raises(gs.ParameterError, match=said):
        draw()


def test_plotting_leaves_no_global_state_behind():
    program = """
import sys, matplotlib, giantstep as gs, xarray as xr
settings = lambda: {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}  # asking opens pyplot
before = settings()
gs.plot(xr.Dataset({"test_error": ("alpha", [1.0, 2.0])}, {"alpha": [1.0, 2.0]}))
assert settings() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize(("room", "trials"), [(True, 0), (False, 0), (False, 5)])
def test_a_legend_never_covers_what_is_drawn_nor_takes_its_room(room, trials):
    dataset = made({"eta": 3, "alpha0": 4, "alpha": 40}, trials=trials)
    falling, waves = 1.0 / dataset.alpha, np.sin(dataset.alpha * dataset.alpha0)  # waves leave no corner free
    dataset["test_error"] = 1e-3 * dataset.test_error + (falling if room else waves)
    axes = plot(dataset)
    assert len(labels(axes)) == 12 + bool(trials)
    box, place, page = (one.get_window_extent() for one in (axes.get_legend(), axes, axes.figure.patch))
    assert (box.x0 >= place.x1) == (not room)
    assert page.x0 <= box.x0 < box.x1 <= page.x1
    assert page.y0 <= box.y0
    assert place.width > 0.75 * page.width - (0.0 if room else box.width)
    for line in axes.get_lines():
        assert not line.get_path().transformed(line.get_transform()).intersects_bbox(box, filled=False)
    ax = Figure().add_subplot()  # a user's own, whose size stays
    plot(dataset, ax=ax)
    assert (ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1) == (not room)
    assert ax.figure.get_size_inches().tolist() == Figure().get_size_inches().tolist()


def test_a_notebook_shows_axes_of_ours_as_one_picture_and_leaves_a_users_own():
    axes: Any = plot(made({"alpha": 5}))
    assert "<svg" in axes._repr_svg_()
    assert "<svg" in axes.figure._repr_svg_()
    own = Figure().subplots()
    own.plot([1, 2], [1, 1], label="mine")
    own.legend(title="T")
    compared = gs.compare(made({"alpha": 5}), made({"alpha": 5}, trials=4).assign_attrs(d=100))
    assert plot(compared, ax=own) is own
    assert not hasattr(own, "_repr_svg_")
    assert own.get_legend().get_title().get_text() == "T"  # which a single curve does not replace


def test_a_staircase_is_drawn_step_by_step_with_whole_steps():
    found = gs.staircase(gs.Network("relu", eta=1, alpha0=2, steps=3), "x1 + x1*x2")
    axes = plot(found)
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == found.overlap.T.values.tolist()
    assert labels(axes) == ["x1", "x2"]
    inside = [tick for tick in axes.get_xticks() if 1 <= tick <= 3]
    assert inside == [1.0, 2.0, 3.0]
    assert r"\gamma" in axes.get_ylabel()
    assert r"\tilde\eta = 1" in axes.get_title(loc="left")


def learned_plane(**model: Any) -> xr.Dataset:
    x1, net = np.linspace(-2, 2, 5), gs.Network("relu", eta=1, alpha0=2, readout="rademacher", **model)
    return gs.learned_function(net, "x1 + x1*x2", (x1, x1 + 1), alpha=2, lam=0.1, bulk="isotropic")


def test_a_learned_plane_is_drawn_beside_its_target_in_the_same_shades():
    found = learned_plane()
    found["learned"] = 3.0 * found["learned"] + 20.0  # beyond the target's range, which must not be cut
    axes = plot(found)
    target, learned, bar = axes.figure.axes
    assert target is axes
    for panel, name in ((target, "truth"), (learned, "learned")):
        (mesh,) = panel.collections
        np.testing.assert_array_equal(mesh.get_array(), found[name].transpose("x2", "x1"))
        assert mesh.get_clim() == (-float(found.learned.max()), float(found.learned.max()))
    assert bar.get_ylabel()
    assert "relu network" in axes.figure.get_suptitle()
    assert "<svg" in axes._repr_svg_()
    assert len(plot(found, x="x1").get_lines()) == 5  # cuts through it, along one direction


def test_a_learned_function_is_drawn_over_its_target():
    net = gs.Network("tanh", eta=1, alpha0=[1.0, 2.0])
    found = gs.learned_function(net, "sin", [-1.0, 0.5], alpha=2, lam=0.1, bulk="isotropic")
    axes = plot(found)
    *curves, target = axes.get_lines()
    assert len(curves) == 2
    np.testing.assert_array_equal(target.get_ydata(), np.sin([-1.0, 0.5]))
    assert labels(axes)[-1].startswith("target")
    assert axes.get_xlabel() == "input along the target's direction, $x$"
    assert labels(plot(found.isel(alpha0=0)))[0].startswith("learned")
    assert len(plot(found, x="alpha0").get_lines()) == 2  # where the target is no curve


def test_spectra_have_titles_and_simulated_ones_stand_beside_them():
    model = gs.SpikedRF("tanh", r=1, gamma=1)
    theory = gs.spectrum(model, alpha=2)
    run = gs.simulate_spectrum(model, alpha=2, d=40, trials=2)
    for axes in (plot(theory), plot(run), plot(run, theory=theory)):
        assert "tanh spiked features" in axes.get_title(loc="left")
    assert labels(plot(run, theory=theory)) == ["simulated, 2 trials", "bulk", "spike at 0.472 d"]
    (stairs,) = plot(run).patches
    counts, edges, _ = stairs.get_data()
    assert counts @ np.diff(edges) == pytest.approx(39 / 40)  # all but the spike


def test_a_landscape_is_drawn_with_its_optimum():
    best = gs.tune(gs.SpikedRF("tanh", r=1, gamma=1), "sin", alpha=1, over=("lam",))
    assert float(best.best_lam) in plot(best).get_lines()[1].get_xdata()


@pytest.mark.parametrize("over", ["eta lam", "lam eta"])
def test_a_map_of_two_parameters_has_its_values_and_its_optimum_where_they_belong_and_shades_for_the_best(over):
    best = made({"eta": 4, "lam": 3}, name="landscape") ** 4  # from 1 to 14
    best = best.assign(best_eta=2.0, best_lam=3.0).assign_attrs(over=over)
    axes = plot(best)
    across, up = over.split()
    (mesh,) = axes.collections
    np.testing.assert_array_equal(mesh.get_array(), best.landscape.transpose(up, across))
    assert mesh.get_clim() == (1.0, 3.0)
    assert mesh.colorbar.extend == "max"
    corner = mesh.get_coordinates()[-1, -1]
    assert (corner > [best[name].max() for name in (across, up)]).all()
    (star,) = axes.get_lines()
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (best[f"best_{across}"], best[f"best_{up}"])


def test_eigenvalues_that_no_axis_has_room_for_are_named_at_the_edge():
    relu = gs.SpikedRF("relu", r=1, gamma=1)
    limit, sized = gs.spectrum(relu, alpha=2), gs.spectrum(relu, alpha=2, d=500)
    spike = f"spike at {float(limit.spike_per_d[0]):.4g} d"
    assert labels(plot(limit)) == ["bulk", spike]
    assert labels(plot(sized)) == ["bulk", f"spike at {float(sized.spike[0]):.4g}"]
    weights = gs.weight_spectrum(relu, d=500)  # whose outlier is the spike
    assert labels(plot(weights)) == ["bulk", f"outlier at {float(weights.outlier):.4g}"]
    edge = float(limit.eigenvalue.max())
    axes = plot(limit.drop_vars("outlier").assign(outlier=("outlier_", [1.5 * edge, 100.0 * edge])))
    _, near, far, _ = axes.get_lines()
    assert near.get_xdata()[0] == far.get_xdata()[0] == 1.5 * edge
    assert labels(axes) == ["bulk", "outlier", f"outlier at {100.0 * edge:.4g}", spike]


def test_few_values_are_marked_and_many_are_not():
    (few,), (many,) = (plot(made({"alpha": count})).get_lines() for count in (15, 16))
    assert few.get_marker() == "."
    assert many.get_marker() == "None"
    line, *_ = plot(made({"alpha": 3}, trials=2), theory=made({"alpha": 3})).get_lines()
    assert line.get_marker() == "None"  # beside points


ONE_STEP = gs.Network("tanh", eta=1, alpha0=1)
STEEP = gs.Function(lambda x: np.arctan(2 * x), derivative=lambda x: 2 / (1 + 4 * x**2), name="steep")
OWN = gs.Network(STEEP, eta=1, alpha0=1, readout=gs.Letters((0.5, 1.5), (0.5, 0.5)))
TWO_STEPS = gs.Network("tanh", steps=[gs.Step(1, 1), gs.Step(1, 2, "huber:1")], readout=gs.Letters((-1, 2), (0.5, 0.5)))


@pytest.mark.parametrize(
    ("model", "target", "options", "said"),
    [
        (ONE_STEP, "sin", {"bulk": "exact"}, "tanh network, sin target"),
        (ONE_STEP, "sin", {"bulk": "isotropic"}, "tanh network, isotropic bulk, sin target"),
        (gs.SpikedRF("tanh", r=1, gamma=1), "sin", {}, "tanh spiked features, sin target"),  # isotropic by definition
        (ONE_STEP, gs.Target("sign", flips=0.2), {}, "tanh network, sign target, flips = 0.2"),
        (OWN, gs.Target(np.arcsinh, noise=0.1), {}, "steep network, letters 0.5, 1.5, arcsinh target"),
        (
            TWO_STEPS,
            "sin",
            {"bulk": "isotropic", "loss": "huber:0.5"},
            "tanh network, letters -1, 2, steps by huber:1 loss, isotropic bulk, sin target, huber:0.5 loss, eta_1 = 1,"
            " alpha0_1 = 1, eta_2 = 1, alpha0_2 = 2",
        ),
    ],
)
def test_a_title_says_what_is_unusual_and_is_not_cut_off(model, target, options, said):
    axes = plot(gs.predict(model, target, alpha=[1.0, 2.0], lam=0.1, **options))
    assert axes._left_title.get_window_extent().x1 <= axes.figure.bbox.x1
    assert axes.get_title(loc="left").replace("\n", ", ").partition(", $")[0] == said


def test_axes_are_logarithmic_only_where_values_are_spaced_so():
    even = plot(gs.predict(ONE_STEP, "sin", alpha=np.linspace(0.05, 4, 20), lam=0.1))
    assert even.get_xscale() == even.get_yscale() == "linear"
    decades = plot(gs.predict(ONE_STEP, "sin", alpha=2, lam=np.geomspace(1e-3, 10, 20)))
    assert decades.get_xscale() == "log"
    shown = [tick.get_text() for tick in decades.get_xticklabels()]
    assert {"0.01", "0.1", "1"} <= set(shown)
    assert not any("times" in words or "^" in words for words in shown)
