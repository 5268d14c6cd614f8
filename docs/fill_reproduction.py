"""Put pictures and z-scores of a full and a quick reproduction into the page that shows them.

    giantstep reproduce --full --device cuda --out full
    giantstep reproduce --workers 2 --out quick
    python docs/fill_reproduction.py full quick

Pictures are those of the full run, in 128 colours. Text between the tables stays as it is.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from pathlib import Path

from PIL import Image

from giantstep.figures.registry import NAMES

HERE = Path(__file__).parent
TABLE = re.compile(r"\| comparison \|.*?\n(?=\n)", re.DOTALL)
COLUMNS = ("trials", "rms z", "if right", "worst z")


def read(folder: Path) -> dict[str, dict[tuple[str, str], dict[str, str]]]:
    """Rows of scores.csv by figure, then by comparison and quantity."""
    found: dict[str, dict[tuple[str, str], dict[str, str]]] = defaultdict(dict)
    with open(folder / "scores.csv", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            found[row["figure"]][row["comparison"], row["quantity"]] = row
    return found


def table(full: dict[tuple[str, str], dict[str, str]], quick: dict[tuple[str, str], dict[str, str]]) -> str:
    """Both runs side by side, the full one first."""
    names = [
        f"{size}: {name}" if name == "trials" else name for size in ("full", "quick") for name in COLUMNS
    ]
    lines = [f"| comparison | quantity | points | {' | '.join(names)} |", "|---|---|" + "--:|" * 9]
    for key, row in full.items():
        cells = [*key, row["points"], *(run[key][name] for run in (full, quick) for name in COLUMNS)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(full: Path, quick: Path) -> None:
    page = HERE / "reproduction.md"
    scores = read(full), read(quick)
    tables = iter([table(scores[0][name], scores[1][name]) for name in NAMES if name in scores[0]])
    page.write_text(TABLE.sub(lambda _: next(tables), page.read_text(encoding="utf-8")), encoding="utf-8")
    for name in NAMES:
        picture = Image.open(full / f"{name}.png").convert("RGB")
        small = picture.resize((1200, round(picture.height * 1200 / picture.width)), Image.Resampling.LANCZOS)
        small.quantize(128).save(HERE / "_static" / "figures" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
