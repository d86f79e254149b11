"""Writes thousands of files of every format with every defect, and counts how each is answered.

``python -m tests.campaigns.written_files --files 12000 --seed 1`` prints a table of formats against
verdicts, one of defects, and the first files of each kind that are wrong in silence, which must be none.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.reading.written.defects import DEFECTS
from tests.reading.written.judge import ASKED, REFUSED, RIGHT, WRONG, Damaged, judge, usual_problems, write
from tests.reading.written.sheets import TOOLS
from tests.reading.written.truth import truth

VERDICTS = (RIGHT, ASKED, REFUSED, WRONG)


@dataclass
class Figures:
    """Verdicts by (format, defect), and the files that are wrong in silence."""

    counts: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: list[tuple[str, str, str]] = field(default_factory=list)

    def table(self, by: int) -> str:
        """The verdicts by format (0) or by defect (1)."""
        rows: dict[str, Counter[str]] = defaultdict(Counter)
        for key, counts in self.counts.items():
            rows[key[by]].update(counts)
        rows["all"] = sum(rows.values(), Counter())
        head = f"| {('format', 'defect')[by]} | {' | '.join(VERDICTS)} |\n|---|{'---|' * len(VERDICTS)}"
        return "\n".join(
            [
                head,
                *(
                    f"| {name} | {' | '.join(str(row[one]) for one in VERDICTS)} |"
                    for name, row in rows.items()
                ),
            ]
        )


def one_file(folder: Path, tool: str, defect: str, seed: str) -> tuple[Damaged, str] | None:
    """A damaged file of a tool with its verdict; None where the tool cannot have the defect."""
    chance = Random(f"{tool} {defect} {seed}")
    sheet = TOOLS[tool](truth(chance), chance)
    damaged = DEFECTS[defect](sheet, chance)
    if damaged is None:
        return None
    clean = folder / sheet.name
    clean.write_text("\n".join(sheet.lines()) + "\n", encoding="utf-8")
    usual = usual_problems(clean) if defect != "none" else frozenset()
    return damaged, judge(write(folder, damaged), damaged, usual)


def run(files: int, seed: int, folder: Path, keep: Path | None = None) -> Figures:
    """Judge so many files, every tool and defect in turns."""
    figures, made, round_ = Figures(), 0, 0
    while made < files:
        for tool in TOOLS:
            for defect in DEFECTS:
                found = one_file(folder, tool, defect, f"{seed} {round_}") if made < files else None
                if found is None:
                    continue
                damaged, verdict = found
                made += 1
                figures.counts[tool, defect][verdict.partition(":")[0]] += 1
                if verdict.startswith(WRONG):
                    name = f"{tool} {defect} {seed} {round_}"
                    figures.wrong.append((tool, defect, f"{name}: {verdict}"))
                    if keep is not None:
                        place = keep / name.replace(" ", "_").replace("/", "_")
                        place.mkdir(parents=True, exist_ok=True)
                        write(place, damaged)
        round_ += 1
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the files that are wrong in silence")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(options.files, options.seed, Path(folder), options.keep)
    print(figures.table(0), figures.table(1), sep="\n\n")
    shown: Counter[tuple[str, str]] = Counter()
    for tool, defect, sentence in figures.wrong:
        shown[tool, defect] += 1
        if shown[tool, defect] <= 2:
            print(sentence)
    print(f"{len(figures.wrong)} of {options.files:,} files are wrong in silence.")
    return bool(figures.wrong)


if __name__ == "__main__":
    raise SystemExit(main())
