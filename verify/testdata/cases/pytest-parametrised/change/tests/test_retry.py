import pytest

from jobs.retry import delays, should_retry


@pytest.mark.parametrize(
    "arguments, expected",
    [
        pytest.param({"attempts": 4}, [1, 2, 4], id="double"),
        pytest.param({"attempts": 5, "most": 5}, [1, 2, 4, 5], id="limited"),
        pytest.param({"attempts": 1}, [], id="one attempt never waits"),
    ],
)
def test_delays(arguments, expected):
    assert list(delays(**arguments)) == expected


@pytest.mark.parametrize("status, again", [(200, False), (400, False), (404, False), (429, True), (500, True), (503, True), (600, False)])
def test_should_retry(status, again):
    assert should_retry(status, 1, 3) is again


def test_last_attempt():
    assert not should_retry(503, 3, 3)
