"""What the tests share."""

import pathlib
import unittest

DATA = pathlib.Path(__file__).parent / "data"


def data(name):
    return (DATA / name).read_text()


class LedgerCase(unittest.TestCase):
    def assert_refused(self, function, *arguments, error=ValueError, says=""):
        with self.assertRaisesRegex(error, says, msg=f"{arguments} was accepted"):
            function(*arguments)
