import pytest


def test_ten_thousand_jobs(queue):
    for job in range(10000):
        queue.add(job)
    assert [queue.take() for _ in range(10000)] == list(range(10000))


def test_empty(queue):
    with pytest.raises(IndexError):
        queue.take()
