"""What a call is, and what it is given to write: every text says by a canary whom it may reach."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tests.isolation.machine.world import Kind, Lawyer, World

_NAME = re.compile(r"\{\w+(?::\w+)?\}")
TYPES = (
    *("identity", "preference", "instruction", "playbook_rule", "fact"),
    *("decision", "deadline", "party", "reference"),
)


class Door(StrEnum):
    """By what a call is made, and so which of the lawyer's secrets it carries."""

    AGENT = "agent"
    BROWSER = "browser"
    MCP = "mcp"
    ANYBODY = "anybody"


class NotNow(Exception):
    """The call needs something that its lawyer does not have yet."""


@dataclass
class Hand:
    """A lawyer about to make a call, in which `name` is the id that they were told to use.

    Two hands with one seed write the same, so that two calls differ in the id alone.
    """

    world: World
    lawyer: Lawyer
    seed: int
    name: str = ""
    shared: bool = False
    """Whether what is named is the firm's, and so what is written into it."""
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def own(self, kind: Kind) -> str:
        """One of the newest of what this lawyer can see.

        Raises:
            NotNow: there is none.
        """
        visible = self.world.visible(kind, self.lawyer)[-8:]
        if not visible:
            raise NotNow
        return self.random.choice(visible).name

    def private(self) -> str:
        """A sentence for this lawyer alone."""
        return self._sentence(self.lawyer.private)

    def firm_wide(self) -> str:
        """A sentence for every lawyer of the firm."""
        return self._sentence(self.lawyer.firm.shared)

    def fitting(self) -> str:
        """A sentence for whoever sees what is named."""
        return self.firm_wide() if self.shared else self.private()

    def _sentence(self, mark: str) -> str:
        about = self.random.choice(("The retainer", "The hearing", "The code of the vault", "The settlement offer"))
        return f"{about} for {mark} is {self.random.randrange(400)}."

    def type(self) -> str:
        return self.random.choice(TYPES)

    def number(self) -> str:
        return f"{self.random.getrandbits(48):012x}"


@dataclass(frozen=True)
class Request:
    """One request. What is filled in after the fact (who, and the address) is the driver's."""

    values: tuple[str, ...] = ()
    """For the names in the route's path, in order."""
    query: dict[str, Any] | None = None
    json: Any = None
    form: dict[str, Any] | None = None
    files: dict[str, Any] | None = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


Make = Callable[[Hand], Request]


@dataclass(frozen=True)
class Call:
    """One way to ask North for something.

    `names` is the kind of thing whose id it takes; with it, a foreign id has to answer as an absent one does.
    """

    route: str
    door: Door
    make: Make
    names: Kind | None = None
    label: str = ""
    needs: int = 399
    """The highest status with which it counts as driven."""

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def title(self) -> str:
        return f"{self.route} {self.label}".rstrip()

    @property
    def writes(self) -> bool:
        """Whether it may change something."""
        return self.method not in ("GET", "HEAD")

    def path(self, request: Request) -> str:
        values = iter(request.values)
        return _NAME.sub(lambda _: next(values), self.route.partition(" ")[2])


def nothing(hand: Hand) -> Request:
    """A request that is its address alone."""
    return Request()


def named(hand: Hand) -> Request:
    """A request for the thing that its path names."""
    return Request((hand.name,))


def maybe_htmx(hand: Hand) -> dict[str, str]:
    """As a page's own script asks, or as a browser without scripts."""
    return {"HX-Request": "true"} if hand.random.random() < 0.5 else {}
