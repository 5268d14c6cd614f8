"""Run tasks one after another or side by side, and keep what is finished."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trial import Task, run_trial


def run_tasks(
    tasks: list[Task], workers: int, executor: Any, progress: bool | None
) -> tuple[dict[int, dict[str, np.ndarray]], bool]:
    results = {index: run_trial(task) for index, task in enumerate(tasks)}
    return results, False
