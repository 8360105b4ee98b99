"""How related memories are to a question: the first three terms of `north.memory.ranking`, for a whole bucket at once.

Postgres finds the words where the rows are, and sends what it found as columns of bytes. To put ten thousand of them
together takes a millisecond here; in Postgres, row by row, it took ten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from north.memory.ranking import Weights

Row = Mapping[str, Any]
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Ids = npt.NDArray[Any]
ID = np.dtype([("high", ">u8"), ("low", ">u8")])
COUNTS = np.dtype([("frequency", ">i4"), ("length", ">i4")])
TABLE_MASK = 2**18 - 1
ROOM = 8
"""How many places a table of ids has for each of them."""
SATURATION, LENGTH_SHARE = 0.9, 0.4
"""BM25's k1 and b: they suit short texts."""
NEIGHBOURS_EACH_WAY = 2
MIDDLE = 0.5
"""The meaning of what is neither near nor far. Only what is above it is lent: to have neighbours is no merit."""
MORE = 50
"""How many more than asked for are looked at once recency and type are added, at most."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The memories of a bucket in the order of source and id, and their cosines; NaN where one has no vector.

    `listed` says where each stands among the bucket's memories as they were listed, when that is known.
    """

    ids: Ids
    sources: Ids
    cosines: Floats
    listed: Places | None = None

    @classmethod
    def of(cls, row: Row) -> Compared:
        """From the row of `recall.compared` or `recall.cosines`."""
        return cls(ids_in(row["ids"]), ids_in(row["sources"]), floats_in(row["cosines"]))


@dataclass(frozen=True, slots=True)
class Likely:
    """Memories that may be the best, the most related first, with their scores so far and their cosines."""

    ids: Ids
    scores: Floats
    cosines: Floats

    def parameters(self) -> dict[str, str]:
        """As arrays that Postgres reads; the driver takes several times as long to write one."""
        return {
            "ids": uuid_array(self.ids),
            "scores": float_array(self.scores),
            "cosines": float_array(self.cosines),
        }


@dataclass(frozen=True, slots=True)
class Said:
    """Which of a question's words some memories have, and what each adds to their BM25 scores.

    Args:
        words: how many the question has.
        memories: how many they are.
        word: which word each part of a score is of.
        at: the place of the memory that it is of.
        parts: how much it is.
    """

    words: int
    memories: int
    word: Places
    at: Places
    parts: Floats

    def scores(self) -> Floats:
        """Each memory's BM25 score."""
        return np.bincount(self.at, self.parts, self.memories).astype(np.float64)

    def among(self, places: Places) -> Said:
        """The same of those that stand at these places, in this order; at -1 stands one that has none of the words."""
        new = np.full(self.memories + 1, -1)
        new[places] = np.arange(len(places))
        new[-1] = -1
        at = new[self.at]
        kept = at >= 0
        return Said(self.words, len(places), self.word[kept], at[kept], self.parts[kept])

    def beside(self, other: Said) -> Said:
        """The same with other words that the same memories have."""
        return Said(
            self.words + other.words,
            self.memories,
            np.append(self.word, other.word + self.words),
            np.append(self.at, other.at),
            np.append(self.parts, other.parts),
        )

    def table(self) -> Floats:
        """The parts in a row for each word and a column for each memory."""
        table = np.zeros((self.words, self.memories))
        table[self.word, self.at] = self.parts
        return table


@dataclass(frozen=True, slots=True)
class Worded:
    """What a question's words count for memories in the order of source and id: all of their score but its meaning.

    Args:
        scores: what their own words count.
        lent: for each neighbour that they may have, how far it stands behind them, who has it, and how much more is
            counted for the words of both.
        listed: as in `Compared`.
    """

    scores: Floats
    lent: Sequence[tuple[int, npt.NDArray[np.bool_], Floats]]
    listed: Places | None = None

    @classmethod
    def of(cls, sources: Ids, said: Said, weights: Weights, listed: Places | None = None) -> Worded:
        """Weigh the words that memories have; `sources` are theirs."""
        scores = said.scores()
        worth = weights.words / highest(scores)
        return cls(worth * scores, list(_lent_by_neighbours(sources, said, worth, weights.neighbours)), listed)


def most_related(compared: Compared, worded: Worded, weights: Weights, limit: int) -> Likely:
    """The memories of a bucket that are most related to a question, somewhat more than `limit`.

    A memory gains by the one neighbour of its source that completes it best.

    Args:
        compared: all of them.
        worded: what the words that they have count.
        weights: what each term of the score weighs.
        limit: how many are asked for.
    """
    meaning = spread(compared.cosines, compared.cosines)
    meaning_lent, gains = lent(meaning, weights), np.zeros(len(meaning))
    for step, lends, words in worded.lent:
        np.maximum(gains, words + np.roll(np.where(lends, meaning_lent, 0), step), out=gains)
    return likely(compared.ids, worded.scores + weights.meaning * meaning + gains, compared.cosines, weights, limit)


def lent(meaning: Floats, weights: Weights) -> Floats:
    """What each memory lends a neighbour of its meaning."""
    return weights.meaning * weights.neighbours * np.maximum(meaning - MIDDLE, 0)


def likely(ids: Ids, scores: Floats, cosines: Floats, weights: Weights, limit: int) -> Likely:
    """Those with the highest scores: `limit` of them, and some more that recency and type can still lift among them."""
    best = first(scores, limit + MORE, ids)
    best = best[scores[best] >= scores[best[:limit]].min(initial=np.inf) - weights.recency - weights.type]
    return Likely(ids[best], scores[best], cosines[best])


def ids_in(column: bytes | None) -> Ids:
    """The ids that Postgres sent."""
    return np.frombuffer(column or b"", ID)


def holders_in(postings: Sequence[Row]) -> Ids:
    """The memories of all postings, in their order."""
    return ids_in(b"".join(posting["ids"] or b"" for posting in postings))


def floats_in(column: bytes | None) -> Floats:
    """The numbers that Postgres sent; NaN for what is not known."""
    return np.frombuffer(column or b"", ">f8").astype(np.float64)


def uuid_array(ids: Ids) -> str:
    """Ids as Postgres reads an array of them."""
    digits = ids.astype(ID).tobytes().hex()  # what was put together from several has the machine's order of bytes
    return "{" + ",".join(digits[start : start + 32] for start in range(0, len(digits), 32)) + "}"


def float_array(numbers: Floats) -> str:
    """Numbers as Postgres reads an array of them; what is not known is null there."""
    return "{" + ",".join(map(repr, numbers.tolist())).replace("nan", "null") + "}"


def words(ids: Ids, bucket: Row, postings: Sequence[Row], at: Places | None = None) -> Said:
    """Which words of a question memories have, and what each of them adds to their BM25 scores.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with the idf that cannot be negative
    (Lucene's).

    Args:
        ids: the memories.
        bucket: how many `documents` it has, and how many terms one of them has in the `mean`.
        postings: for each term of the question how many memories have it (`df`), and of those that matter here their
            `ids` and `counts`.
        at: where in `ids` the memory of each posting stands, where that is known.
    """
    counts = np.frombuffer(b"".join(posting["counts"] or b"" for posting in postings), COUNTS)
    df = np.array([posting["df"] for posting in postings])
    idf = np.log1p((np.maximum(bucket["documents"] - df, 0) + 0.5) / (df + 0.5))
    frequency = counts["frequency"].astype(np.float64)
    slowed = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * counts["length"] / bucket["mean"])
    each = [len(posting["ids"] or b"") // ID.itemsize for posting in postings]
    parts = np.repeat(idf, each) * frequency * (SATURATION + 1) / (frequency + slowed)
    word = np.repeat(np.arange(len(postings)), each)
    if at is not None:
        return Said(len(postings), len(ids), word, at, parts)
    at = places(ids, holders_in(postings))
    known = at >= 0
    return Said(len(postings), len(ids), word[known], at[known], parts[known])


def places(ids: Ids, wanted: Ids) -> Places:
    """Where in `ids` each of `wanted` stands; -1 for one that does not.

    The last bits of an id are random: a table leads from them to the id. Those who lost their place in it to another
    have the next table to themselves, until everyone has had one.
    """
    mask = min(TABLE_MASK, (1 << (ROOM * len(ids)).bit_length()) - 1)
    slots, wanted_slots = ((of["low"] & mask).astype(np.intp) for of in (ids, wanted))
    at, table = np.full(len(wanted), -1), np.zeros(mask + 1, np.intp)
    without, sought = np.arange(len(ids)), np.arange(len(wanted))
    while len(without) and len(sought):
        table[slots[without]] = without
        found = table[wanted_slots[sought]]
        same = ids[found] == wanted[sought]
        at[sought[same]] = found[same]
        without, sought = without[table[slots[without]] != without], sought[~same]
    return at


def highest(scores: Floats) -> float:
    """The highest BM25 score, of which all are shares; 1 where nobody has any of the words."""
    return float(scores.max(initial=0)) or 1.0


def spread(values: Floats, seen: Floats) -> Floats:
    """Values spread over the range of what was `seen`, which becomes [0, 1]; the unknown is neither near nor far."""
    known = seen[~np.isnan(seen)]
    width = np.ptp(known) if len(known) else 0.0
    return np.nan_to_num((values - known.min()) / width, nan=MIDDLE) if width else np.full(len(values), MIDDLE)


def _lent_by_neighbours(
    sources: Ids, said: Said, worth: float, share: float
) -> Iterator[tuple[int, npt.NDArray[np.bool_], Floats]]:
    """`Worded.lent`.

    Args:
        sources: of each memory; they are in the order of source and id.
        said: the words that each has.
        worth: what each part of a BM25 score weighs.
        share: the share of their parts for which a neighbour's words count.
    """
    table = said.table().ravel()
    own = said.word * said.memories + said.at
    parts = share * said.parts
    for distance in range(1, NEIGHBOURS_EACH_WAY + 1):
        same, none = sources[distance:] == sources[:-distance], np.zeros(distance, np.bool_)
        for step, lends in ((distance, np.append(same, none)), (-distance, np.append(none, same))):
            lenders = lends[said.at]
            lacking = np.maximum(parts[lenders] - table[own[lenders] + step], 0)
            words = np.bincount(said.at[lenders] + step, lacking, said.memories).astype(np.float64, copy=False)
            yield step, lends[: said.memories], worth * words


def first(scores: Floats, count: int, ids: Ids) -> Places:
    """Where the `count` highest scores stand, the highest first; of equals the newer memory is first."""
    least = np.partition(scores, -count)[-count] if len(scores) > count else -np.inf
    places = np.flatnonzero(scores >= least)
    return places[np.lexsort((ids["low"][places], ids["high"][places], scores[places]))[::-1]][:count]
