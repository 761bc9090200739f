import unittest

from cache import Cache


class CacheTest(unittest.TestCase):
    def setUp(self):
        self.cache = Cache(2)

    def test_oldest_is_dropped(self):
        for key in "abc":
            self.cache.put(key, key.upper())
        self.assertIsNone(self.cache.get("a"))
        self.assertEqual(self.cache.get("c"), "C")

    def test_read_keeps(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.get("a")
        self.cache.put("c", 3)
        self.assertEqual(self.cache.get("a"), 1)

    def test_size(self):
        with self.assertRaises(ValueError):
            Cache(0)
