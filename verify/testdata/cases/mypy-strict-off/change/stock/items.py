from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    name: str
    count: int
    reserved: int = None


def find(items: list[Item], name: str) -> Item | None:
    for item in items:
        if item.name == name:
            return item
    return None
