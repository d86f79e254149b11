"""Files with what is wrong with files as they come: none is read wrongly without a word about it.

The long campaign is ``python -m tests.campaigns.written_files``.
"""

import pytest

from tests.campaigns.written_files import one_file
from tests.reading.written.defects import DEFECTS
from tests.reading.written.judge import RIGHT, WRONG
from tests.reading.written.sheets import TOOLS

SEEDS = ("a", "b")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_without_a_defect_is_right(tool, tmp_path):
    assert one_file(tmp_path, tool, "none", "a")[1] == RIGHT


@pytest.mark.parametrize("defect", [name for name in DEFECTS if name != "none"])
def test_no_defect_is_wrong_in_silence(defect, tmp_path):
    found = {(tool, seed): one_file(tmp_path, tool, defect, seed) for tool in TOOLS for seed in SEEDS}
    verdicts = {key: one[1] for key, one in found.items() if one is not None}
    assert verdicts
    assert {key: said for key, said in verdicts.items() if said.startswith(WRONG)} == {}
