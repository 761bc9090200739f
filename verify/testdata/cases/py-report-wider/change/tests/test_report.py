from ledger.report import report
from tests.support import LedgerCase, data

MARCH = [("rent", 90000), ("food", 31250), ("books", 4599)]


class ReportTest(LedgerCase):
    def test_march(self):
        self.assertEqual(report("March", MARCH), data("march.txt"))

    def test_empty(self):
        self.assertEqual(report("April", []).splitlines()[-1].split(), ["total", "0.00"])

    def test_long_name(self):
        row = report("May", [("a name of twenty one", 1)]).splitlines()[2]
        self.assertEqual(row, "a name of twenty one  " + "0.01".rjust(10))
