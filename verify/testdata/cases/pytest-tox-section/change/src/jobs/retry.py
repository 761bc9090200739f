"""When to try again."""


def delays(attempts, first=1.0, factor=2.0, most=60.0):
    """Yield the seconds to wait before each further attempt."""
    delay = first
    for _ in range(attempts - 1):
        yield min(delay, most)
        delay *= factor


def should_retry(status, attempt, attempts):
    """Say whether an answer with this status is worth another attempt."""
    return attempt < attempts and status >= 400
