import datetime

from ledger.statement import heading
from tests.support import LedgerCase


class HeadingTest(LedgerCase):
    def test_month_before(self):
        self.assertEqual(heading(datetime.date(2024, 3, 15)), "Statement of 2024-02")

    def test_first_day(self):
        self.assertEqual(heading(datetime.date(2024, 1, 1)), "Statement of 2023-12")
