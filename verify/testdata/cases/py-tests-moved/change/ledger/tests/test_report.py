from ledger.report import report
from ledger.tests.support import LedgerCase, data

MARCH = [("rent", 90000), ("food", 31250), ("books", 4599)]


class ReportTest(LedgerCase):
    def test_march(self):
        self.assertEqual(report("March", MARCH), data("march.txt"))

    def test_empty(self):
        self.assertEqual(report("April", []).splitlines()[-1].split(), ["total", "0.00"])
