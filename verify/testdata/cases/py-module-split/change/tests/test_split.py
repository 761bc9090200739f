from ledger.money import split
from tests.support import LedgerCase


class SplitTest(LedgerCase):
    def test_nothing_is_lost(self):
        for parts in range(1, 8):
            self.assertEqual(sum(split(100, parts)), 100)

    def test_first_get_more(self):
        self.assertEqual(split(100, 3), [34, 33, 33])

    def test_no_parts(self):
        self.assert_refused(split, 100, 0)
