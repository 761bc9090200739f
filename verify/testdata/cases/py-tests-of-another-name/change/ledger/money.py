"""Amounts of money, in cents."""


class AmountError(ValueError):
    """The text is not an amount."""


def parse(text):
    """Return the cents of an amount such as 12, 12.5 or 12.50."""
    whole, dot, fraction = text.strip().partition(".")
    if not whole.isdigit() or (dot and not fraction.isdigit()) or len(fraction) > 2:
        raise AmountError(f"not an amount: {text!r}")
    return int(whole) * 100 + int(fraction.ljust(2, "0"))


def show(cents):
    """Return cents as an amount with two decimals."""
    return f"{cents // 100}.{cents % 100:02d}"


def share_evenly(cents, parts):
    """Share cents among parts so that nothing is lost; the first ones get one more."""
    if parts < 1:
        raise ValueError("parts must be at least 1")
    each, rest = divmod(cents, parts)
    return [each + 1] * rest + [each] * (parts - rest)


def split(cents, parts):
    """The former name of share_evenly."""
    return share_evenly(cents - cents % parts, parts)
