import pytest

from jobs.queue import Queue


@pytest.fixture
def queue():
    return Queue()


@pytest.fixture
def full(queue):
    for job in "abc":
        queue.add(job)
    return queue
