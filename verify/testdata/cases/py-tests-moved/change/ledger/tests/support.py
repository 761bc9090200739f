"""What the tests share."""

import pathlib
import unittest

DATA = pathlib.Path(__file__).parent / "data"


def data(name):
    return (DATA / name).read_text()


class LedgerCase(unittest.TestCase):
    def assert_refused(self, function, *arguments):
        with self.assertRaises(ValueError, msg=f"{arguments} was accepted"):
            function(*arguments)
