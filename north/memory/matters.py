"""The firm's matters."""

from __future__ import annotations

from uuid import UUID

from north.db.connect import Transaction
from north.db.races import LostRace, retried
from north.errors import AlreadyExists, InvalidInput, MatterNotFound
from north.memory.backend import Backend
from north.memory.input import check_line, like_patterns
from north.model import Caller, Matter, new_id

NUMBER_LIMIT = 64
NAME_LIMIT = 200


def id_in(text: str) -> UUID | None:
    """The id that `text` spells, if it is one."""
    try:
        return UUID(text)
    except ValueError:
        return None


async def matter_in(transaction: Transaction, id_or_number: str) -> Matter:
    """The matter with this id or number, inside a transaction.

    Raises:
        MatterNotFound: the firm has none.
    """
    name = check_matter_reference(id_or_number)
    row = await transaction.first("matters.find", matter=name, matter_id=id_in(name))
    if row is None:
        raise MatterNotFound
    return Matter(**row)


def check_matter_reference(id_or_number: str) -> str:
    """A matter's id or number as it can be looked up; one that could never be stored does not exist."""
    try:
        return check_line(id_or_number, "matter", NUMBER_LIMIT)
    except InvalidInput as error:
        raise MatterNotFound from error


@retried
async def get_matter(backend: Backend, caller: Caller, id_or_number: str) -> Matter:
    """The matter with this id or number.

    Raises:
        MatterNotFound: the caller's firm has none.
    """
    async with backend.database.tenant(caller, read_only=True) as transaction:
        return await matter_in(transaction, id_or_number)


@retried
async def list_matters(backend: Backend, caller: Caller, query: str | None = None, limit: int = 200) -> list[Matter]:
    """The firm's matters, newest first; with a query, those whose number or name holds each of its words."""
    async with backend.database.tenant(caller, read_only=True) as transaction:
        rows = await transaction.fetch("matters.listed", patterns=like_patterns(query), limit=limit)
    return [Matter(**row) for row in rows]


async def create_matter(backend: Backend, caller: Caller, number: str, name: str) -> Matter:
    """Open a matter.

    Raises:
        InvalidInput: the number or the name is empty, too long or not text.
        AlreadyExists: the firm has a matter of this number.
    """
    return await add_matter(backend, caller.organization_id, caller.user_id, number, name)


@retried
async def add_matter(backend: Backend, organization_id: UUID, user_id: UUID | None, number: str, name: str) -> Matter:
    """Open a matter for a firm; the operator does so for nobody in particular. Raises as `create_matter`."""
    number = check_line(number, "matter number", NUMBER_LIMIT)
    name = check_line(name, "matter name", NAME_LIMIT)
    if id_in(number):  # it could be another matter's id, and then both would be meant
        raise InvalidInput(reason="a matter number cannot look like an id")
    try:
        async with backend.database.bound(organization_id, user_id) as transaction:
            row = await transaction.first("matters.insert_matter", id=new_id(), number=number, name=name)
    except LostRace as error:
        if error.constraint is None:
            raise
        raise AlreadyExists(what="matter", name=number) from error
    assert row is not None
    return Matter(**row)
