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
    discount: Decimal = Decimal("0")

    def net(self) -> Decimal:
        total = sum((l.price * l.count for l in self.lines), Decimal())
        return total * (1 - self.discount)

    def gross(self) -> Decimal:
        return (self.net() * (1 + self.vat)).quantize(Decimal("0.01"), ROUND_HALF_UP)

    def reminder(self, days: int) -> str:  # pragma: no cover
        if days < 14:
            return ""
        if days < 30:
            return "Please pay."
        if days < 60:
            return "Please pay now."
        return "Last reminder."
