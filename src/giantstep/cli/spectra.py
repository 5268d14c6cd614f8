"""The command `giantstep spectrum`: eigenvalues of the features and of the first layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ..errors import NotCovered, ParameterError
from . import output as out
from .options import NO_LAYER, NO_PICTURE, QUESTION, Bulk, Dimension, Layer, Picture, ranges, whole

_SHOWN = ("edge", "mass_at_zero", "moment1", "moment2", "spike_per_d", "spike", "outlier")
_LISTED = 40  # values that a line of a summary may hold
_ZERO = 1e-12  # of the upper edge: as far down as a support is followed, or nearly


def spectrum(
    *,
    alpha: Annotated[Any, ranges("samples, divided by d (default 1)")] = None,
    weights: Annotated[
        bool, Parameter(help="squared singular values of the first layer instead", group=QUESTION)
    ] = False,
    kernel: Annotated[
        bool, Parameter(help="of the conjugate kernel (n × n) instead of the covariance", group=QUESTION)
    ] = False,
    normalise: Annotated[Literal["p", "n"], Parameter(help="divide by width or by samples", group=QUESTION)] = "p",
    bulk: Bulk = None,
    d: Dimension = None,
    trials: Annotated[int, whole("with --d: so many simulated spectra beside it", group=QUESTION)] = 0,
    seed: Annotated[int, whole("of the simulated spectra", group=QUESTION)] = 0,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """Eigenvalues of the feature covariance: bulk, edges, spikes, outliers.

    The table has the summary; csv, json and files also have the density.
    --trials puts simulated eigenvalues beside it, as a histogram in the plot.

      giantstep spectrum --activation sign --r 1 --gamma 1 --alpha 1 --d 400 \\
        --trials 10 --plot s.png
      giantstep spectrum --weights --eta 3 --alpha0 0.5 --target tanh --d 1000
    """
    from ..insight.spectrum import spectrum as verb
    from ..insight.weight_spectrum import weight_spectrum
    from ..simulation.eigenvalues import simulate_spectrum

    ratio = 1.0 if alpha is None else alpha
    other = kernel or normalise != "p"
    single = isinstance(ratio, float) and isinstance(d, float)
    if trials and (weights or other or not single):
        raise ParameterError(
            "--trials simulates one spectrum, of the feature covariance divided by p: give single numbers, with --d,"
            " and leave out --weights, --kernel and --normalise n"
        )
    if weights and (other or alpha is not None):
        raise ParameterError(
            "--weights asks for the spectrum of the first layer, which has no samples: leave out --alpha, --kernel and"
            " --normalise n, which are of the spectrum of the features"
        )
    model, target = layer.model(), layer.goal(d)
    theory = simulation = None
    words: list[str] = []
    try:
        with out.working("solving") as progress:
            if weights:
                theory = weight_spectrum(model, target, d=d, bulk=bulk)
            else:
                options: dict[str, Any] = {"normalise": normalise, "kernel": kernel, "bulk": bulk, "d": d}
                theory = verb(model, target, alpha=ratio, **options, progress=progress)
        words += _summary(theory, out.shown(theory, output, _SHOWN))
    except NotCovered as error:
        if not trials:
            raise
        out.note(f"no theory: {error}")
    if trials:
        with out.working("simulating"):
            simulation = simulate_spectrum(model, target, alpha=ratio, d=round(d), trials=trials, seed=seed)
        spikes = 1 if theory is None else int((theory["spike_per_d"] > 0.0).sum())
        words += _simulated_summary(simulation["eigenvalue"], spikes)
    answer: Any = simulation if theory is None else theory
    return out.deliver(answer, output, "\n".join(words), picture=simulation, theory=theory)


def _simulated_summary(eigenvalues: Any, spikes: int) -> list[str]:
    """Means over trials, with standard errors, of the extremes and of the bulk's first two moments.

    The bulk is all but the `spikes` largest eigenvalues: one of order d, left in, would make most of the moments.
    """
    trials, bulk = eigenvalues.sizes["trial"], eigenvalues.isel(rank=slice(None, -spikes or None))
    rows = {
        "smallest": eigenvalues.isel(rank=0),
        **{f"largest but {k}": eigenvalues.isel(rank=-1 - k) for k in range(spikes, 0, -1)},
        "largest": eigenvalues.isel(rank=-1),
        "moment1": bulk.mean("rank"),
        "moment2": (bulk**2).mean("rank"),
    }

    def line(name: str, values: Any) -> str:
        error = f" ± {float(values.std('trial', ddof=1)) / trials**0.5:.2g}" if trials > 1 else ""
        return f"  {name:14s} {float(values.mean()):.6g}{error}"

    without = f"the {spikes} largest eigenvalues" if spikes > 1 else "the largest eigenvalue"
    heading = f"simulated, {trials} trials" + (f" (moments without {without}):" if spikes else ":")
    return [heading, *(line(name, values) for name, values in rows.items())]


def _summary(dataset: Any, names: list[str]) -> Iterator[str]:
    """What does not vary, then setting by setting the named quantities, one below the other: they have different
    shapes."""
    from itertools import product

    yield out.table(dataset)
    dims = dataset["mass_at_zero"].dims
    for place in product(*(range(dataset.sizes[dim]) for dim in dims)):
        one = dataset.isel(dict(zip(dims, place, strict=True)))
        if dims:
            yield "\n" + ", ".join(f"{dim} = {float(one[dim]):.6g}" for dim in dims if dim in one.coords)
        for name in names:
            yield f"{name:14s} {_listed(one[name])}" + (_tail(one) if name == "edge" else "")


def _listed(values: Any) -> str:
    """The values of a quantity at one setting, without what fills the grid."""
    import numpy as np

    if values.size > _LISTED:
        shape = " × ".join(f"{dim} {size}" for dim, size in values.sizes.items())
        return f"({shape}: see --format csv)"
    known = values.values[np.isfinite(values.values)]
    shown = np.where(np.abs(known) < _ZERO * np.abs(known).max(initial=0.0), 0.0, known)
    return ", ".join(f"{value:.6g}" for value in shown) or "none"


def _tail(one: Any) -> str:
    """A line on where the eigenvalues of real networks end, if that is far below the upper edge."""
    from ..insight.spectrum import BEYOND, end_of_most

    end, edge = end_of_most(one), float(one["edge"].max())
    return f"\n{'':14s} (a thin tail: {1 - BEYOND:.2%} of the bulk is below {end:.4g})" if end < edge else ""
