from dataclasses import dataclass, field
from decimal import Decimal, ROUND_HALF_UP


@dataclass
class Line:
    text: str
    price: Decimal
    count: int = 1


@dataclass
class Invoice:
    lines: "list[Line]" = field(default_factory=list)
    vat: Decimal = Decimal("0.19")

    def net(self) -> Decimal:
        return sum((l.price * l.count for l in self.lines), Decimal())

    def gross(self) -> Decimal:
        return (self.net() * (1 + self.vat)).quantize(Decimal("0.01"), ROUND_HALF_UP)
