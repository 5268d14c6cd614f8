"""Draw the picture of the architecture page, docs/_static/architecture.svg: `python docs/draw_architecture.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, PAPER, ACCENT = "#333333", "#f4f6fa", "#dbe7f5"


def box(axes: Axes, x: float, y: float, title: str, words: str, width: float = 2.6, colour: str = PAPER) -> None:
    """A rounded box with a title and a line of words, centred at (x, y)."""
    style = {"boxstyle": "round,pad=0.08", "facecolor": colour, "edgecolor": INK}
    axes.add_patch(
        matplotlib.patches.FancyBboxPatch((x - width / 2, y - 0.4), width, 0.8, **style)  # type: ignore[arg-type]
    )
    axes.text(x, y + 0.14, title, ha="center", va="center", weight="bold", color=INK, fontsize=10)
    axes.text(x, y - 0.2, words, ha="center", va="center", color=INK, fontsize=8)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0})


def main() -> None:
    matplotlib.rcParams["svg.hashsalt"] = "giantstep"  # the same file every time
    figure = Figure(figsize=(10, 5.2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 10), ylim=(0, 6))
    axes.axis("off")
    axes.set_facecolor("white")

    box(axes, 5, 5.4, "Network or SpikedRF, Target, grids", "one description of one problem", 4.6, ACCENT)
    box(axes, 1.15, 2.8, "first layer", "drawn, stepped, or given", 1.9)
    box(axes, 3.75, 3.9, "features", "μ0, μ1, μ2 (κ): Result 2", 2.3)
    box(axes, 3.75, 2.8, "bulk", "exact, isotropic, ...", 2.3)
    box(axes, 3.75, 1.7, "channel", "loss and labels", 2.3)
    box(axes, 6.3, 2.8, "solver", "Result 3: V, then m ζ ψ χ, q", 1.9)
    box(axes, 8.8, 3.9, "draw", "rows, inputs, noise", 2.1)
    box(axes, 8.8, 2.8, "step", "giant gradient steps", 2.1)
    box(axes, 8.8, 1.7, "fit, measure", "every alpha and lam of a trial", 2.1)
    box(axes, 5, 0.55, "xarray.Dataset", "the same names on the same axes: compare, plot, save", 4.6, ACCENT)
    axes.text(1.15, 4.62, "predict", ha="center", style="italic", color=INK)
    axes.text(8.8, 4.62, "simulate", ha="center", style="italic", color=INK)

    arrow(axes, (2.62, 5.1), (1.3, 3.3))
    arrow(axes, (7.38, 5.1), (8.4, 4.42))
    arrow(axes, (2.18, 3.0), (2.52, 3.7))
    arrow(axes, (2.18, 2.8), (2.52, 2.8))
    for y in (3.9, 2.8, 1.7):
        arrow(axes, (4.98, y), (5.27, 2.8 + 0.25 * (y - 2.8)))
    arrow(axes, (6.3, 2.3), (6.3, 1.06))
    arrow(axes, (8.8, 3.4), (8.8, 3.3))
    arrow(axes, (8.8, 2.3), (8.8, 2.2))
    arrow(axes, (8.4, 1.2), (7.38, 0.8))
    target = Path(__file__).parent / "_static" / "architecture.svg"
    figure.savefig(target, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
