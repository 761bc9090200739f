"""Reports as plain text."""

from ledger.money import show


def report(title, entries):
    """Return a table of (name, cents) with a total."""
    lines = [title, "=" * len(title)]
    for name, cents in entries:
        if not isinstance(cents, int):
            raise TypeError(f"{name}: {cents!r} is no number of cents")
        lines.append(f"{name:<12}{show(cents):>10}")
    lines.append(f"{'total':<12}{show(sum(cents for _, cents in entries)):>10}")
    return "\n".join(lines) + "\n"
