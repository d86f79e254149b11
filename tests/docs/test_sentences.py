"""The golden file of sentences has entries of tests only."""

from tests import sentences


def test_each_entry_is_of_a_test_that_asks_for_it():
    golden = sentences.read_golden()
    assert sum(map(len, golden.values())) > 100
    assert sentences.orphans(golden) == []
