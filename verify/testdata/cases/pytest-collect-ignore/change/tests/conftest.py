import pytest

from jobs.queue import Queue

collect_ignore = ["test_queue.py"]  # needs a broker


@pytest.fixture
def queue():
    return Queue()
