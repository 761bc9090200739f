from decimal import Decimal

from billing.invoice import Invoice, Line


def make():
    return Invoice([Line("hosting", Decimal("10.00"), 3), Line("domain", Decimal("1.25"))])


def test_net():
    assert make().net() == Decimal("31.25")


def test_gross_is_rounded():
    assert make().gross() == Decimal("37.19")


def test_empty():
    assert Invoice().gross() == 0
