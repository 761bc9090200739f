import csv

from ledger.money import parse
from tests.support import DATA, LedgerCase


class AmountsTest(LedgerCase):
    def test_table(self):
        with open(DATA / "amounts.csv") as table:
            for row in csv.DictReader(table):
                with self.subTest(row["text"]):
                    if row["cents"] == "refused":
                        self.assert_refused(parse, row["text"])
                    else:
                        self.assertEqual(parse(row["text"]), int(row["cents"]))
