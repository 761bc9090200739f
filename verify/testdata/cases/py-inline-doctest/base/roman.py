def roman(n):
    """Write n in Roman numerals.

    >>> roman(3)
    'III'
    >>> roman(4)
    'IV'
    """
    out = ""
    for value, text in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        while n >= value:
            out += text
            n -= value
    return out
