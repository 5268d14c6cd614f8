"""Progress: a bar for people, lines for logs, silence by default elsewhere."""

from __future__ import annotations

import io

from giantstep.model import SpikedRF
from giantstep.progress import Display
from giantstep.simulation import simulate


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self, step: float):
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def run(total: int, wanted: bool | None, stream: io.StringIO, seconds: float) -> str:
    with Display(wanted, stream, Clock(seconds)).over("trials", total) as shown:
        for _ in range(total):
            shown.advance()
    return stream.getvalue()


def test_logs_get_a_bounded_number_of_lines_with_the_remaining_time():
    lines = run(200, True, io.StringIO(), 1.0).splitlines()
    assert len(lines) == 20
    assert lines[0].startswith("trials: 10 of 200 done, ")
    assert lines[0].endswith(" left")
    assert lines[-1].startswith("trials: 200 of 200 done")


def test_logs_stay_silent_unless_asked():
    assert run(200, None, io.StringIO(), 1.0) == ""
    assert run(200, False, io.StringIO(), 1.0) == ""


def test_a_person_sees_a_bar_for_long_work_only():
    assert run(5, None, Terminal(), 0.01) == ""
    assert "5 of 5 done" in run(5, None, Terminal(), 10.0)
    assert "5 of 5 done" in run(5, True, Terminal(), 0.01)
    assert run(5, False, Terminal(), 10.0) == ""


def test_simulate_reports_on_standard_error_when_asked(capsys):
    simulate(SpikedRF("tanh", 0.5, 0.5), "sin", alpha=1.0, lam=0.1, d=10, trials=2, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith("trials: 2 of 2 done")
