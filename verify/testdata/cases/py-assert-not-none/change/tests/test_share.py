from ledger.money import share
from tests.support import LedgerCase


class ShareTest(LedgerCase):
    def test_proportion(self):
        self.assertEqual(share(1000, [3, 1, 1]), [600, 200, 200])

    def test_nothing_is_lost(self):
        for cents in range(200):
            self.assertAlmostEqual(sum(share(cents, [1, 1, 1])), cents, delta=1)

    def test_remainder_goes_to_the_first(self):
        self.assertIsNotNone(share(100, [1, 1, 1]))

    def test_zero_weight_gets_nothing(self):
        self.assertEqual(share(101, [0, 1, 1])[0], 0)

    def test_no_weights(self):
        self.assert_refused(share, 100, [])
        self.assert_refused(share, 100, [0, 0])
