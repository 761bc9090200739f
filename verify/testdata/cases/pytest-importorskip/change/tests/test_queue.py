import pytest

pytest.importorskip("pytest_randomly", reason="orders are tested at random")


def test_priority_first(queue):
    queue.add("slow", 9)
    queue.add("quick", 0)
    assert queue.take() == "quick"


def test_order_of_arrival(queue):
    for job in "abcd":
        queue.add(job)
    assert [queue.take() for _ in range(4)] == list("abcd")


def test_jobs_that_cannot_be_compared(queue):
    queue.add({"id": 1})
    queue.add({"id": 2})
    assert queue.take() == {"id": 1}


@pytest.mark.parametrize("priority", [-1, 10])
def test_priority_out_of_range(queue, priority):
    with pytest.raises(ValueError):
        queue.add("job", priority)
