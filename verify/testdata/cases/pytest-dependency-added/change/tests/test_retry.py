import pytest

from jobs.retry import delays, should_retry


def test_delays_double():
    assert list(delays(4)) == [1, 2, 4]


def test_delays_are_limited():
    assert list(delays(10, most=5))[-1] == 5


def test_one_attempt_never_waits():
    assert list(delays(1)) == []


@pytest.mark.parametrize("status, again", [(200, False), (400, False), (404, False), (408, True), (429, True), (500, True), (503, True), (600, False)])
def test_should_retry(status, again):
    assert should_retry(status, 1, 3) is again


def test_last_attempt():
    assert not should_retry(503, 3, 3)
