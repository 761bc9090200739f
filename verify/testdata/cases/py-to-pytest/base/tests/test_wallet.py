import unittest

from wallet import Wallet


class WalletTest(unittest.TestCase):
    def setUp(self):
        self.wallet = Wallet(100)

    def test_pay(self):
        self.wallet.pay(30)
        self.assertEqual(self.wallet.balance, 70)

    def test_pay_too_much(self):
        with self.assertRaises(ValueError):
            self.wallet.pay(101)
        self.assertEqual(self.wallet.balance, 100)


if __name__ == "__main__":
    unittest.main()
