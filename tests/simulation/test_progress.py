"""Progress: a bar for people, lines for logs, silence by default elsewhere."""

from __future__ import annotations

import io
import time

import pytest

from giantstep import SpikedRF, simulate
from giantstep.cli import main, output
from giantstep.runtime import progress
from giantstep.runtime.progress import Display, Share, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_logs_get_a_bounded_number_of_lines_with_the_remaining_time():
    now, stream = [0.0], io.StringIO()
    display = Display(True, stream, clock=lambda: now[0])
    with display.over("simulation", 1000):
        for done in range(1, 1001):
            now[0] += 0.5
            display.update(done - done // 10, done // 10, 2)
        lines = stream.getvalue().splitlines()
        assert len(lines) == 20
        assert lines[0] == "simulation: 45 of 1000 done, 2 running, 5 failed, 2/s, 7 min 55 s left"
        assert lines[-1].startswith("simulation: 900 of 1000 done, 2 running, 100 failed")
        now[0] += 61
        display.update(900, 100, 0)
    assert len(stream.getvalue().splitlines()) == 21  # a sign of life after a minute of silence
    assert [duration(s) for s in (8.2, 200, 18720)] == ["8 s", "3 min 20 s", "5 h 12 min"]


@pytest.mark.parametrize("wanted", [None, False, True])
def test_logs_stay_silent_unless_asked_and_are_on_standard_error(wanted, capsys):
    simulate(SpikedRF("tanh", 0.5, 0.5), "sin", alpha=1.0, lam=0.1, d=10, trials=2, progress=wanted)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line.split(",")[0] for line in captured.err.splitlines()]
    assert lines == (["trials: 1 of 2 done", "trials: 2 of 2 done"] if wanted else [])


@pytest.mark.parametrize(
    ("wanted", "patience", "shown"), [(None, 60.0, False), (None, 0.01, True), (True, 60.0, True), (False, 0.01, False)]
)
@pytest.mark.parametrize(
    ("display", "done", "words"), [(Display, 0, "0 of 100 done"), (Share, 44, "44 %"), (Share, 0, "bounding")]
)
def test_a_person_sees_a_bar_for_long_work_whose_first_piece_is_not_done(
    display, done, words, wanted, patience, shown, monkeypatch
):
    """And no share that is not known."""
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    stream = Terminal()
    with display(wanted, stream).over("bounding", 100) as work:
        work.update(done)
        deadline = time.monotonic() + (10.0 if shown else 0.2)  # what draws the bar is imported first
        while words not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    left = stream.getvalue()
    assert (words in left) == shown
    assert " 0 %" not in left
    time.sleep(0.05)
    assert stream.getvalue() == left  # nothing draws any more


STEP = "--eta 1 --alpha0 1"
LONG = [
    f"predict {STEP} --alpha 1 --lam 1", f"compare {STEP} --alpha 1 --lam 1 --d 20 --trials 2", f"bounds {STEP}",
    f"learned {STEP} --alpha 1 --lam 1", f"staircase {STEP}", f"spectrum {STEP}", f"spectrum --weights {STEP}",
    f"tune {STEP} --alpha 1", f"coefficients {STEP}",
]  # fmt: skip


@pytest.mark.parametrize("command", LONG)
def test_every_command_that_may_take_long_shows_that_it_works_and_ends_in_one_line(command, monkeypatch, capsys):
    class Interrupted(Share):
        def over(self, name, total):
            raise KeyboardInterrupt

    monkeypatch.setattr(output, "Share", Interrupted)
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted: nothing more was computed or written\n"
