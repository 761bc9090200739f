import pytest

from jobs.queue import Queue


@pytest.fixture
def queue():
    return Queue()
