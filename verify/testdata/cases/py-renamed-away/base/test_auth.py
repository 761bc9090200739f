import unittest

import auth


class AuthTest(unittest.TestCase):
    def test_right(self):
        self.assertEqual(auth.verify("secret"), "secret")

    def test_wrong(self):
        with self.assertRaises(ValueError):
            auth.verify("guess")
