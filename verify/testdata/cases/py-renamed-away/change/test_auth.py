import unittest

import auth


class AuthTest(unittest.TestCase):
    def test_right(self):
        self.assertEqual(auth.normalise("secret"), "secret")

    def test_wrong(self):
        with self.assertRaises(ValueError):
            auth.normalise("guess")
