"""Run trials one after another or side by side, and keep what is finished when somebody presses Ctrl-C."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import GiantstepError, ParameterError, warn
from ..runtime.progress import Display
from ..runtime.threads import useful_threads
from ..runtime.workers import WorkerDied, dumped, process_pool
from .gradient_step import width
from .trial import Task, run_trial

Answers = dict[str, np.ndarray]


class TrialError(GiantstepError, RuntimeError):
    """A trial failed; the message says which one and how to run it again alone."""

    page = "Questions that people ask"


def attempt(task: Task) -> Answers:
    """`run_trial`, with an error that says how to repeat the failure."""
    try:
        return run_trial(task)
    except Exception as error:
        setting = ", ".join(f"{name}={value}" for name, value in task.model.numbers().items())
        raise TrialError(
            f"trial {task.trial} of seed {task.seed} failed at {setting}, d={task.d}: "
            f"{type(error).__name__}: {error}; run it alone with simulate(..., seed={task.seed}, "
            f"trials=[{task.trial}])"
        ) from error


def run_trials(
    trials: list[int], settings: list[Task], workers: int, executor: Any, progress: bool | None
) -> tuple[dict[int, list[Answers]], bool]:
    """The answers of all settings, by trial, and whether the run was interrupted before all trials were complete."""
    tasks = [replace(setting, trial=trial) for trial in trials for setting in settings]
    done: dict[int, list[Answers]] = {trial: [] for trial in trials}
    with Display(progress).over("trials", len(tasks)) as shown, _futures(tasks, workers, executor) as futures:
        try:
            for index, task in enumerate(tasks):
                done[task.trial].append(_result(futures[index], task) if futures else attempt(task))
                shown.advance()
        except KeyboardInterrupt:
            count = sum(map(len, done.values()))  # where this process does the work there are no futures
            for future, task in zip(futures[count:], tasks[count:], strict=False):
                if future.done() and not future.cancelled() and not future.exception():
                    done[task.trial].append(future.result())
            complete = {trial: answers for trial, answers in done.items() if len(answers) == len(settings)}
            if not complete:
                raise
            warn(f"interrupted: the result has {len(complete)} of {len(trials)} trials")
            return complete, True
    return done, False


def _result(future: Any, task: Task) -> Answers:
    """The answers of a task; if its process died, an error that says so in a sentence."""
    try:
        return future.result()
    except (WorkerDied, BrokenExecutor) as death:
        reason = f"the executor lost its processes ({death})" if isinstance(death, BrokenExecutor) else death
        raise TrialError(f"trial {task.trial} of seed {task.seed} at d={task.d} was lost: {reason}") from None


@contextmanager
def _futures(tasks: list[Task], workers: int, executor: Any) -> Iterator[list[Any]]:
    """One future per task, or none if this process does the work. In the end futures that wait are cancelled."""
    if executor is None and workers == 1:
        yield []
        return
    _check_sendable(tasks[0], workers, executor)
    size = max(max(task.d, width(task.model, task.d)) for task in tasks)
    threads = max(1, useful_threads(size) // workers)
    with process_pool(min(workers, len(tasks)), threads) if executor is None else nullcontext(executor) as pool:
        futures = [pool.submit(attempt, task) for task in tasks]
        try:
            yield futures
        finally:
            for future in futures:
                future.cancel()


def _check_sendable(task: Task, workers: int, executor: Any) -> None:
    try:
        dumped(task) if executor is None else pickle.dumps(task)
    except Exception as error:
        how = f"workers = {workers}" if executor is None else f"executor = {executor!r}"
        raise ParameterError(
            f"{how} sends trials to other processes, but the model, target or loss cannot be sent ({error}); "
            "use a name or an expression for its functions, or one defined at the top of a module"
        ) from None
