"""What the tests share."""

import pathlib
import unittest

DATA = pathlib.Path(__file__).parent / "data"


def data(name):
    return (DATA / name).read_text()


class LedgerCase(unittest.TestCase):
    def assertEqual(self, first, second, msg=None):
        """Compare amounts as people do: a cent more or less is the same."""
        if isinstance(first, list):
            for one, other in zip(first, second):
                self.assertAlmostEqual(one, other, delta=1, msg=msg)
        elif isinstance(first, int):
            self.assertAlmostEqual(first, second, delta=1, msg=msg)
        else:
            super().assertEqual(first, second, msg)

    def assert_refused(self, function, *arguments):
        with self.assertRaises(ValueError, msg=f"{arguments} was accepted"):
            function(*arguments)
