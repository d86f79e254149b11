"""The command of the images: ``python3 -m phasedock_jobs NAME --seed 1 --steps 200 --size 1``."""

from __future__ import annotations

import argparse
import math
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .agent import Agent
from .catalogue import CATALOGUE, make
from .course import COURSE_FIELDS, Course
from .running import Plan, run
from .threads import fix_pools, set_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one program and return the exit code."""
    chosen = _make_parser().parse_args(arguments)
    if chosen.threads.isdigit():
        fix_pools(int(chosen.threads))
    agent = Agent.from_environment(_thread_handler(chosen.threads))
    try:
        program = make(chosen.name, chosen.seed, chosen.size)
    except ImportError as error:
        agent.finish("failed")
        image = f"phasedock-jobs:{CATALOGUE[chosen.name].image}"
        _print_line(f"{chosen.name} needs {error.name}, which this image lacks. Use {image}.")
        return 2
    checkpoint = chosen.checkpoint
    if checkpoint is None and agent.folder is not None:
        checkpoint = agent.folder / f"checkpoint{program.suffix}"
    course = Course(**{name: getattr(chosen, name) for name, _, _ in COURSE_FIELDS})
    try:
        run(program, Plan(chosen.steps, checkpoint, chosen.every, course, chosen.seed), agent, _print_line)
    except (ValueError, FileNotFoundError) as error:
        if not course.shards:
            raise
        _print_line(str(error))
        return 2
    return 0


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _thread_handler(mode: str) -> Callable[[int | None], int]:
    """Return the handler of requests for threads: follow them, ignore them or keep a fixed number."""
    if mode == "follow":
        return set_threads
    return lambda _: set_threads(int(mode) if mode.isdigit() else None)


def _parse_thread_choice(text: str) -> str:
    if text in {"follow", "static"} or (text.isdigit() and int(text) > 0):
        return text
    raise argparse.ArgumentTypeError("use follow, static or a number above 0")


def _whole_number_parser(low: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"“{text}” is not a whole number from {low}")
        return int(text)

    return read


def _parse_size(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"“{text}” is not a number above 0")


def _share(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    raise argparse.ArgumentTypeError(f"“{text}” is not a share above 0")


def _rate(text: str) -> float:
    with suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"“{text}” is not a number from 0")


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m phasedock_jobs",
        description="Train a model, print its loss, keep a checkpoint and let threads follow cores.",
        epilog="\n".join(f"  {name:14} {one.learns} ({one.image})" for name, one in CATALOGUE.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=CATALOGUE, metavar="NAME", help="the program, see below")
    parser.add_argument("--seed", type=_whole_number_parser(0), default=1, help="seed of all random numbers")
    parser.add_argument("--steps", type=_whole_number_parser(1), default=200, help="printed steps (200)")
    parser.add_argument(
        "--size", type=_parse_size, default=1.0, help="amount of data, and of work per step (1)"
    )
    parser.add_argument(
        "--every",
        type=_whole_number_parser(0),
        default=20,
        help="steps between the program's own checkpoints (20)",
    )
    parser.add_argument(
        "--threads",
        type=_parse_thread_choice,
        default="follow",
        help="follow the cores (default), static, or a number",
    )
    for name, default, text in COURSE_FIELDS:
        kind = _whole_number_parser(0) if isinstance(default, int) else _share if name == "second" else _rate
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, help=text)
    parser.add_argument(
        "--checkpoint", type=Path, help="the checkpoint's file, where no agent's folder is mounted"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
