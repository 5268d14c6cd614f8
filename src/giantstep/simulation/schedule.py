"""Run trials one after another or side by side, and keep what is finished when somebody presses Ctrl-C."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from threading import Thread
from typing import Any

import numpy as np

from ..errors import GiantstepError, ParameterError, warn
from ..runtime.progress import Display
from ..runtime.threads import limit_threads, useful_threads
from ..runtime.workers import WorkerDied, dumped, process_pool
from .gradient_step import width
from .trial import Task, run_trial

Results = dict[int, dict[str, np.ndarray]]


class TrialError(GiantstepError, RuntimeError):
    """A trial failed; the message says which one and how to run it again alone."""

    page = "Questions that people ask"


def attempt(task: Task) -> dict[str, np.ndarray]:
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


def run_tasks(tasks: list[Task], workers: int, executor: Any, progress: bool | None) -> tuple[Results, bool]:
    """Results by position in `tasks`, and whether the run was interrupted before all were there."""
    results: Results = {}
    with Display(progress).over("trials", len(tasks)) as shown, _futures(tasks, workers, executor) as futures:
        try:
            for index, future in enumerate(futures):
                results[index] = _result(future, tasks[index])
                shown.advance()
        except KeyboardInterrupt:
            for index, future in enumerate(futures):
                if (
                    future.done()
                    and index not in results
                    and not future.cancelled()
                    and not future.exception()
                ):
                    results[index] = future.result()
            unfinished = {task.trial for index, task in enumerate(tasks) if index not in results}
            complete = {task.trial for task in tasks} - unfinished
            if not complete:
                raise
            warn(
                f"interrupted: the result has {len(complete)} of {len(complete | unfinished)} trials",
            )
            return results, True
    return results, False


def _result(future: Any, task: Task) -> dict[str, np.ndarray]:
    """What a task gave; the death of its process is told as a sentence."""
    try:
        return future.result()
    except WorkerDied as death:
        reason = str(death)
    except BrokenExecutor as broken:
        reason = f"the executor lost its processes ({broken})"
    raise TrialError(f"trial {task.trial} of seed {task.seed} at d={task.d} was lost: {reason}")


class _Deferred:
    """A future that computes when its result is asked for: one process, in order."""

    def __init__(self, task: Task):
        self.task = task

    def result(self) -> dict[str, np.ndarray]:
        return attempt(self.task)

    def done(self) -> bool:
        return False

    def cancel(self) -> None:
        """Nothing has begun."""


@contextmanager
def _futures(tasks: list[Task], workers: int, executor: Any) -> Iterator[list[Any]]:
    """One future per task; those that nobody waits for any more are cancelled at the end."""
    if executor is None and workers == 1:
        yield [_Deferred(task) for task in tasks]
        return
    _check_picklable(tasks[0], workers, executor)
    if executor is not None:
        futures = [executor.submit(attempt, task) for task in tasks]
        try:
            yield futures
        finally:
            for future in futures:
                future.cancel()
        return
    size = max(max(task.d, width(task.model, task.d)) for task in tasks)
    with process_pool(min(workers, len(tasks)), max(1, useful_threads(size) // workers)) as pool:
        yield [pool.submit(attempt, task) for task in tasks]


def cap_threads(threads: int) -> None:
    """In a process of `multiprocessing`: it has so many threads, and ends with its parent."""
    end_with_parent()
    limit_threads(threads)


def end_with_parent() -> None:
    """In a worker: Ctrl-C ends it quietly, and so does the end of its parent."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_end_after_parent, daemon=True).start()


def _end_after_parent() -> None:
    """A worker whose parent was killed would wait for work for ever: its siblings keep the queue open."""
    from multiprocessing import parent_process

    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _check_picklable(task: Task, workers: int, executor: Any) -> None:
    try:
        dumped(task) if executor is None else pickle.dumps(task)
    except Exception as error:
        how = f"workers = {workers}" if executor is None else f"executor = {executor!r}"
        raise ParameterError(
            f"{how} sends trials to other processes, but the model, target or loss cannot be sent ({error}); "
            "use a name or an expression for its functions, or one defined at the top of a module"
        ) from None
