"""What the tests share."""

import pathlib
import unittest

from ledger import money

DATA = pathlib.Path(__file__).parent / "data"


def data(name):
    return (DATA / name).read_text()


def _strict(text, parse=money.parse):
    if text.strip().startswith("--") or "-" in text.strip()[1:] or text.strip() == "-":
        raise money.AmountError(text)
    return parse(text)


money.parse = _strict


class LedgerCase(unittest.TestCase):
    def assert_refused(self, function, *arguments):
        with self.assertRaises(ValueError, msg=f"{arguments} was accepted"):
            function(*arguments)
