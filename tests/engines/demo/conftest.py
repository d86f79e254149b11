"""What tests of the demo share: a host with two jobs on two cores, looked at once."""

import pytest

from tests.engines.demo.making import Demo, flat, plan_of


@pytest.fixture
def demo(tmp_path):
    made = Demo(tmp_path / "live", plan_of(flat("one"), flat("two", 60.0)))
    made.host().advance()
    made.clock.sleep(1.0)
    return made
