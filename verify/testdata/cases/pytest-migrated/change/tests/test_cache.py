import pytest

from cache import Cache


@pytest.fixture
def cache():
    return Cache(2)


def test_oldest_is_dropped(cache):
    for key in "abc":
        cache.put(key, key.upper())
    assert cache.get("a") is None
    assert cache.get("c") == "C"


def test_read_keeps(cache):
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert cache.get("a") == 1


def test_size():
    with pytest.raises(ValueError):
        Cache(0)
