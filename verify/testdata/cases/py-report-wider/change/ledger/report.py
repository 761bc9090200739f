"""Reports as plain text."""

from ledger.money import show


def report(title, entries):
    """Return a table of (name, cents) with a total."""
    width = max([12] + [len(name) + 2 for name, _ in entries])
    lines = [title, "=" * len(title)]
    for name, cents in entries:
        lines.append(f"{name:<{width}}{show(cents):>10}")
    lines.append(f"{'total':<{width}}{show(sum(cents for _, cents in entries)):>10}")
    return "\n".join(lines) + "\n"
