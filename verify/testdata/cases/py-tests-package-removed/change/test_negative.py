import unittest

from ledger.money import parse, show


class NegativeTest(unittest.TestCase):
    def test_refund(self):
        self.assertEqual(parse("-3.50"), -350)
        self.assertEqual(show(-350), "-3.50")
