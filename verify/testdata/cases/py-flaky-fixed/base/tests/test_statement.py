import datetime

from ledger.statement import heading
from tests.support import LedgerCase


class HeadingTest(LedgerCase):
    def test_month_before(self):
        last = datetime.date.today() - datetime.timedelta(days=datetime.date.today().day)
        self.assertEqual(heading(), f"Statement of {last:%Y-%m}")
