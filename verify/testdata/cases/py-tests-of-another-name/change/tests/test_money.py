from ledger.money import parse, show, share_evenly
from tests.support import LedgerCase


class ParseTest(LedgerCase):
    def test_whole(self):
        self.assertEqual(parse("12"), 1200)

    def test_one_decimal(self):
        self.assertEqual(parse("12.5"), 1250)

    def test_two_decimals(self):
        self.assertEqual(parse(" 0.07 "), 7)

    def test_refuses(self):
        for text in ["", "x", "1.", ".5", "1.234", "1,50", "--1", "1-2", "-"]:
            with self.subTest(text):
                self.assert_refused(parse, text)


class ShowTest(LedgerCase):
    def test_cents_have_two_digits(self):
        self.assertEqual(show(1205), "12.05")

    def test_round_trip(self):
        for cents in (0, 1, 99, 100, 12345):
            self.assertEqual(parse(show(cents)), cents)


class SplitTest(LedgerCase):
    def test_nothing_is_lost(self):
        for parts in range(1, 8):
            self.assertEqual(sum(share_evenly(100, parts)), 100)

    def test_first_get_more(self):
        self.assertEqual(share_evenly(100, 3), [34, 33, 33])

    def test_no_parts(self):
        self.assert_refused(share_evenly, 100, 0)
