"""How often the logs of containers are requested."""

from core.engines.run.start import LogReadings


class _Host:
    """A host whose containers print a loss at every moment."""

    def __init__(self):
        self.requests = 0

    def logs_since(self, _container, since, _lines):
        self.requests += 1
        return [(since + at, f"loss={1 / (since + at):.4f}") for at in (1.0, 2.0)]


def test_a_log_is_requested_as_often_as_it_was_asked_for_and_no_line_is_left_out():
    host = _Host()
    readings = LogReadings(host, "a", {}, every=3600.0)
    assert [when for when, _ in readings.news()] == [1.0, 2.0]
    assert [readings.news() for _ in range(5)] == [[]] * 5
    assert host.requests == 1
    assert [when for when, _ in readings.news(at_end=True)] == [3.0, 4.0]
    assert host.requests == 2


def test_a_log_that_is_waited_for_is_requested_at_every_look():
    host = _Host()
    readings = LogReadings(host, "a", {}, every=0.0)
    assert [len(readings.news()) for _ in range(3)] == [2, 2, 2]
    assert host.requests == 3
