"""Statements of a month."""

import datetime


def heading():
    """Return the heading of the statement of the month before."""
    last = datetime.date.today().replace(day=1) - datetime.timedelta(days=1)
    return f"Statement of {last:%Y-%m}"
