"""The demo, small."""

import numpy as np

import giantstep as gs
from giantstep.figures.demo import main


def test_the_demo_prints_z_scores_and_draws_its_picture(tmp_path, capsys):
    main(d=24, trials=2, folder=str(tmp_path / "new"))
    printed = capsys.readouterr().out
    for target in ("tanh", "sin"):
        assert f"best linear predictor has test error {gs.linear_error(target):.5f}" in printed
    rows = [line.split() for line in printed.splitlines() if len(line.split()) == 6 and "±" not in line]
    table = np.array([row for row in rows if row[0][0].isdigit()], dtype=float)
    assert table.shape == (2 * 4 * 8, 6)
    theory, simulated, error, z = table[:, 2:].T
    np.testing.assert_allclose(z, (simulated - theory) / error, atol=0.02, rtol=0.02)  # of what is printed
    assert (tmp_path / "new" / "learning_curves.png").stat().st_size > 10_000
