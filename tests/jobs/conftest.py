"""Programs of these tests compute with one thread, so that they do not wait for each other."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(limits=1):
        yield
