"""Known failures, which are reported but do not stop a release."""

import pytest

KNOWN = ("test_should_retry",)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.name.startswith(KNOWN):
            item.add_marker(pytest.mark.xfail(strict=False))
