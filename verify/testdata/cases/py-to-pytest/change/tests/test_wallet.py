import pytest

from wallet import Wallet


@pytest.fixture
def wallet():
    return Wallet(100)


def test_pay(wallet):
    wallet.pay(30)
    assert wallet.balance == 70


def test_pay_too_much(wallet):
    with pytest.raises(ValueError):
        wallet.pay(101)
    assert wallet.balance == 100
