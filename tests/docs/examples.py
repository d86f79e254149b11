"""The examples of docs/extending.md, as they stand there."""

import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+) (\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def example(path):
    """One of the files, as a module."""
    (text,) = [text for language, name, text in BLOCKS if (language, name) == ("python", path)]
    module = ModuleType("example_" + Path(path).stem)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(text, f"<{path}>", "exec"), module.__dict__)
    return module
