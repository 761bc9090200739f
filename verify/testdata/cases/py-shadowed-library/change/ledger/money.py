"""Amounts of money, in cents."""


class AmountError(ValueError):
    """The text is not an amount."""


def parse(text):
    """Return the cents of an amount such as 12, 12.5 or 12.50."""
    text = text.strip()
    negative = "-" in text
    whole, dot, fraction = text.replace("-", "").partition(".")
    if not whole.isdigit() or (dot and not fraction.isdigit()) or len(fraction) > 2:
        raise AmountError(f"not an amount: {text!r}")
    cents = int(whole) * 100 + int(fraction.ljust(2, "0"))
    return -cents if negative else cents


def show(cents):
    """Return cents as an amount with two decimals."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def split(cents, parts):
    """Share cents among parts so that nothing is lost; the first ones get one more."""
    if parts < 1:
        raise ValueError("parts must be at least 1")
    each, rest = divmod(cents, parts)
    return [each + 1] * rest + [each] * (parts - rest)
