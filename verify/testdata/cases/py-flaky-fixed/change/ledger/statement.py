"""Statements of a month."""

import datetime


def heading(today=None):
    """Return the heading of the statement of the month before."""
    today = today or datetime.date.today()
    last = today.replace(day=1) - datetime.timedelta(days=1)
    return f"Statement of {last:%Y-%m}"
