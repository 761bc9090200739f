def roman(n):
    """Write n in Roman numerals.

    >>> roman(3)
    'III'
    >>> roman(4)
    'IIII'
    """
    out = ""
    for value, text in ((1000, "M"), (500, "D"), (100, "C"), (50, "L"), (10, "X"), (5, "V"), (1, "I")):
        while n >= value:
            out += text
            n -= value
    return out
