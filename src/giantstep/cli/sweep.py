"""The commands `giantstep sweep ...`: thousands of settings, kept in a file that survives crashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Group, Parameter

from . import output as out
from .help import PlainHelp
from .options import whole

if TYPE_CHECKING:
    import xarray as xr

    from ..sweep import Sweep
    from ..sweep.results import Progress, Results

_SWEEP, _WHERE = map(Group.create_ordered, ("The sweep", "Where it runs"))
_SHOWN_FAILURES = 5

_File = Annotated[str, Parameter(help="the sweep's .toml file, or its .sqlite store", group=_SWEEP)]
_Store = Annotated[
    str | None, Parameter(help="where results are kept (default: FILE with .sqlite)", metavar="FILE", group=_SWEEP)
]
_Part = Annotated[
    Literal["theory", "simulation", "comparison"] | None,
    Parameter(help="which one (default: the simulation, if there is one)", group=_SWEEP),
]


@Parameter(name="*", group=_WHERE)
@dataclass(frozen=True)
class Where:
    """What computes."""

    workers: Annotated[int | None, whole("local processes (default: all processors)")] = None
    threads: Annotated[int, whole("threads of each process; results depend on it in the last bits")] = 1
    scheduler: Annotated[str | None, Parameter(help="a Dask cluster to use, tcp://...", metavar="ADDRESS")] = None
    quiet: Annotated[bool, Parameter(help="no progress")] = False


_HERE = Where()


def make_sweep_app(sort_key: float) -> App:
    """The command group; `sort_key` is its place in the list of commands."""
    app = App(
        name="sweep",
        sort_key=sort_key,
        help="Thousands of settings, kept in one file: stop, resume and extend at will.",
        help_epilogue="",
        help_format="plaintext",
        help_formatter=PlainHelp(),
    )
    for place, verb in enumerate((run, status, export, plot, retry)):
        app.command(verb, sort_key=place)
    return app


def run(file: _File, /, *, store: _Store = None, where: Where = _HERE) -> int:
    """Compute what is missing of a sweep, and keep it.

    FILE describes the sweep (giantstep sweep status tells how far it is):

      target = "sin"
      alpha = "0.2:3:10"
      lam = [0.01, 0.1]
      [model]
      activation = "tanh"
      eta = [0.5, 1, 2]
      alpha0 = 2
      [theory]
      [simulation]
      d = 500
      trials = 20

    You may stop it and run it again: finished trials are kept. With longer
    lists or more trials only what is new is computed.

      giantstep sweep run curves.toml
      giantstep sweep run curves.toml --scheduler tcp://10.0.0.5:8786
    """
    return _run(file, store, where, again=False)


def retry(file: _File, /, *, store: _Store = None, where: Where = _HERE) -> int:
    """Do what failed before, and only that."""
    return _run(file, store, where, again=True)


def status(file: _File, /, *, store: _Store = None) -> int:
    """How much of a sweep is there; also while it runs."""
    from ..sweep.results import status as of

    return _report(of(*_found(file, store)))


def export(
    file: _File,
    to: Annotated[str, Parameter(help="a .nc, .json, .csv or .parquet file", group=_SWEEP)],
    /,
    *,
    part: _Part = None,
    store: _Store = None,
) -> int:
    """Write what a sweep has found to a file, NaN where it is not done.

    A simulation has a row for each trial, a comparison one for each point:
    theory, mean over trials, standard error, and z, their distance in these.

      giantstep sweep export curves.toml curves.csv --part comparison
    """
    from ..files import check_dataset_path, save
    from ..sweep import results

    check_dataset_path(to)
    dataset = _chosen(results(*_found(file, store)), part)
    if "d" not in dataset.coords:  # which makes it a column of a table
        dataset = dataset.assign_coords(d=float(dataset.attrs.get("d", inf)))
    with out.writing("wrote", to):
        save(dataset, to)
    if missing := dataset.attrs["missing"]:
        out.note(f"{missing} points are not computed yet")
    return 0


def plot(
    file: _File,
    to: Annotated[str, Parameter(help="a .png, .pdf or .svg file", group=_SWEEP)],
    /,
    *,
    x: Annotated[str | None, Parameter(help="parameter along the horizontal axis", group=_SWEEP)] = None,
    show: Annotated[
        str | None, Parameter(help="the quantity (default: the test error; of labels ±1, wrong signs)", group=_SWEEP)
    ] = None,
    store: _Store = None,
) -> int:
    """Draw what a sweep has found: lines for theory, points for simulation.

    Between the sweep's points the theory is asked for more, so that lines are
    smooth.
    """
    from ..plotting import plot as draw
    from ..plotting.drawing import quantities
    from ..plotting.style import check_picture_path
    from ..sweep import results
    from ..sweep.results import complete_trials

    check_picture_path(to)
    found = results(*_found(file, store))
    dataset: Any = found.theory
    theory = None
    if found.simulation is not None:
        dataset = complete_trials(found.simulation)
        (show,) = quantities(dataset, show)
        theory = found.theory if found.theory is not None and show in found.theory else None
    out.save_picture(draw(dataset, x, show, theory=theory), to)
    return 0


def _run(file: str, store: str | None, where: Where, again: bool) -> int:
    import warnings
    from shlex import join

    from ..sweep import run_sweep
    from ..sweep.run import Unfinished

    sweep, path = _found(file, store)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Unfinished)  # which is said below, in the words of a command
        found = run_sweep(
            sweep,
            path,
            workers=where.workers,
            threads=where.threads,
            scheduler=where.scheduler,
            retry=again,
            progress=not where.quiet,
            read=False,
        )
    if not found.interrupted:
        return _report(found.status)
    stored = [] if store is None else ["--store", store]
    command = join(["giantstep", "sweep", "retry" if again else "run", file, *stored])
    out.note(f"stopped: {found.done} more jobs were finished and are kept in {path}; go on with: {command}")
    return 130


def _report(parts: Sequence[Progress]) -> int:
    """Say how far the sweep is; 2 if something failed."""
    print(*parts, sep="\n", flush=True)
    failures = [" ".join(message.split()) for part in parts for message in part.messages]
    for message in failures[:_SHOWN_FAILURES]:
        out.note(f"failed: {message}")
    if failures:
        out.note("giantstep sweep retry does these again")
    return 2 if failures else 0


def _found(file: str, store: str | None) -> tuple[Sweep, Path]:
    """The sweep and its store, from the one or the other."""
    from ..sweep import Sweep
    from ..sweep.store import Store
    from ..sweep.toml import read

    if Path(file).suffix.lower() == ".toml":
        return read(file), Path(store) if store else Path(file).with_suffix(".sqlite")
    with Store.reading(file) as kept:
        return Sweep.from_dict(kept.last_sweep()), Path(file)


def _chosen(found: Results, part: str | None) -> xr.Dataset:
    """What is to be exported; a comparison is over the trials that are complete."""
    from ..answers.comparison import compare
    from ..errors import ParameterError
    from ..sweep.results import complete_trials

    if part == "comparison" and found.theory is not None and found.simulation is not None:
        missing = found.theory.attrs["missing"] + found.simulation.attrs["missing"]
        return compare(found.theory, complete_trials(found.simulation)).assign_attrs(missing=missing)
    there = {name: dataset for name in ("simulation", "theory") if (dataset := getattr(found, name)) is not None}
    if part is not None and part not in there:
        raise ParameterError(f"--part {part}: this sweep has only {', '.join(there)} (so far)")
    if part is None and len(there) > 1:
        out.note(
            "this is the simulation, trial by trial; --part theory writes the theory, --part comparison both with z"
        )
    return there[part or next(iter(there))]
