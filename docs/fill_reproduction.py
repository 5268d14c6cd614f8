"""Put pictures and z-scores of a full and a quick reproduction into the page that shows them.

    giantstep reproduce --full --device cuda --out full
    giantstep reproduce --workers 2 --out quick
    python docs/fill_reproduction.py full quick

Pictures are those of the full run, in 128 colours. Figures that only one of the runs has, and text, stay as they are.
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
    names = [f"{size}: {name}" if name == "trials" else name for size in ("full", "quick") for name in COLUMNS]
    lines = [f"| comparison | quantity | points | {' | '.join(names)} |", "|---|---|" + "--:|" * 9]
    for key, row in full.items():
        cells = [*key, row["points"], *(run[key][name] for run in (full, quick) for name in COLUMNS)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(full: Path, quick: Path) -> None:
    path = HERE / "reproduction.md"
    page, (large, small) = path.read_text(encoding="utf-8"), (read(full), read(quick))
    for name in (name for name in NAMES if name in large and name in small):
        start = page.index(f"_static/figures/{name}.png")
        filled = TABLE.sub(lambda _, name=name: table(large[name], small[name]), page[start:], count=1)
        page = page[:start] + filled
        picture = Image.open(full / f"{name}.png").convert("RGB")
        width = 1200
        resized = picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
        resized.quantize(128).save(HERE / "_static" / "figures" / f"{name}.png", optimize=True)
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
