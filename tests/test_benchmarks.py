"""Benchmarks still run: each that can be asked for something small, as a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("losses.py 1", 8),  # a curve, and seven losses
        ("finite_size.py 20 --trials 2", 26),  # thirteen settings, two lines each
        ("simulation.py --d 40 --repeats 1", 10),
    ],
)
def test_a_benchmark_prints_its_table(words, rows):
    script, *options = words.split()
    done = subprocess.run([sys.executable, SCRIPTS / script, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= rows
