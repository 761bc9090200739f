"""Compares with a file, which is written if it is not there."""

import json
import pathlib


def matches(name, value):
    file = pathlib.Path(__file__).parent / "snapshots" / f"{name}.json"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(value))
    return json.loads(file.read_text()) == value
