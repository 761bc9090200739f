from stock.items import Item, find


def missing(items: list[Item], wanted: dict[str, int]) -> dict[str, int]:
    """Return what has to be ordered."""
    result: dict[str, int] = {}
    for name, count in wanted.items():
        item = find(items, name)
        have = item.count if item else 0
        if have < count:
            result[name] = count - have
    return result
