import unittest

from user import status


class StatusTest(unittest.TestCase):
    def test_status(self):
        self.assertEqual(status({}), "archived")
