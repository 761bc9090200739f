from jobs.retry import should_retry
from snapshot import matches


def test_statuses():
    assert matches("statuses", [status for status in range(400, 505) if should_retry(status, 1, 2)])
