"""Reports as plain text."""

from ledger.money import show


def report(title, entries):
    """Return a table of (name, cents) with a total."""
    lines = [title, "=" * len(title)]
    for name, cents in entries:
        lines.append(f"{name:<12}{show(cents):>10}")
    lines.append("-" * 22)
    lines.append(f"{'total':<12}{show(sum(cents for _, cents in entries)):>10}")
    return "\n".join(lines) + "\n"
