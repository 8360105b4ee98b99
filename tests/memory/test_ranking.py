"""How memories are put in order; asked of the real recall, by words alone where vectors would blur the reason."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north.assembly import make_backend, opened
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.save import save
from north.memory.terms import query_terms, terms
from north.model import Draft, MemoryType, Recalled
from north.settings import Settings
from tests.conftest import FirmOfTest, TestDatabase, make_firm
from tests.memory.remembering import personal

NOW = datetime.now(UTC)
few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = ("appeal", "bond", "claim", "deed", "escrow", "fee")
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
buckets = st.lists(sentences, min_size=1, max_size=8, unique=True)


@pytest.fixture(scope="module")
async def wordy(database: TestDatabase) -> AsyncIterator[Backend]:
    async with opened(make_backend(Settings(model="offline", embedder="none"), database.place)) as running:
        yield running


@pytest.fixture(scope="module")
async def next_matter(wordy: Backend, password_hash: str) -> FirmOfTest:
    """A firm for all examples; each has a lawyer's bucket or a matter of its own."""
    return await make_firm(wordy, password_hash)


async def ranked(
    backend: Backend, firm: FirmOfTest, drafts: Sequence[Draft], query: str, limit: int = 200
) -> list[Recalled]:
    """What is recalled from a bucket that holds these drafts alone."""
    await save(backend, firm.a, drafts)
    await backend.backlog.settled(firm.a.organization_id, seconds=60)
    return list((await rank_buckets(backend, firm.a, query, None, limit)).personal)


def order(hits: Sequence[Recalled]) -> list[str]:
    return [hit.memory.content for hit in hits]


class TestEveryBucket:
    @few
    @given(texts=buckets, query=sentences)
    async def test_is_returned_whole_best_first_and_the_same_again(
        self, wordy: Backend, password_hash: str, texts: list[str], query: str
    ) -> None:
        firm = await make_firm(wordy, password_hash)
        hits = await ranked(wordy, firm, [personal(text) for text in texts], query)
        assert sorted(order(hits)) == sorted(texts)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True) and scores[-1] >= 0
        shuffled = " ".join(reversed(query.split()))
        again = (await rank_buckets(wordy, firm.a, shuffled, None, 200)).personal
        assert order(again) == order(hits), "the order of the question's words does not matter"
        for limit in range(1, len(hits)):
            fewer = (await rank_buckets(wordy, firm.a, query, None, limit)).personal
            assert order(fewer) == order(hits)[:limit], "a smaller limit cuts the end off and changes nothing"

    @few
    @given(texts=buckets, query=sentences)
    async def test_puts_what_shares_no_word_last(
        self, wordy: Backend, password_hash: str, texts: list[str], query: str
    ) -> None:
        firm = await make_firm(wordy, password_hash)
        apart = [replace(personal(text), source_label=text) for text in texts]  # what stands beside a hit would gain
        hits = await ranked(wordy, firm, apart, query)
        shares = [bool(set(query_terms(query)) & set(terms(hit.memory.content))) for hit in hits]
        assert shares == sorted(shares, reverse=True)


class TestWords:
    async def test_a_rare_word_weighs_more_than_a_common_one(self, wordy: Backend, firm: FirmOfTest) -> None:
        texts = ["the claim is old", "the claim is new", "the claim is odd", "the deed is long"]
        assert order(await ranked(wordy, firm, [personal(text) for text in texts], "claim deed"))[0] == texts[3]

    async def test_both_words_weigh_more_than_one_twice(self, wordy: Backend, firm: FirmOfTest) -> None:
        texts = ["claim claim bond", "deed deed bond", "claim deed bond"]
        assert order(await ranked(wordy, firm, [personal(text) for text in texts], "claim deed"))[0] == texts[2]

    async def test_a_short_text_says_it_more_clearly_than_a_long_one(self, wordy: Backend, firm: FirmOfTest) -> None:
        texts = ["claim " + "bond escrow fee appeal " * 10, "claim bond"]
        assert order(await ranked(wordy, firm, [personal(text) for text in texts], "claim"))[0] == texts[1]

    async def test_a_number_is_found_however_it_is_written(self, wordy: Backend, firm: FirmOfTest) -> None:
        texts = ["Matter HV-1001 is urgent.", "Matter HV-1002 is urgent."]
        for query in ("hv1001", "HV 1001", "hv-1001", "1001"):
            assert order(await ranked(wordy, firm, [personal(text) for text in texts], query))[0] == texts[0]


class TestSmallTerms:
    async def test_of_equals_the_newer_is_first(self, wordy: Backend, firm: FirmOfTest) -> None:
        old = replace(personal("The claim is for 50."), captured_at=NOW - timedelta(days=90))
        assert order(await ranked(wordy, firm, [personal("The claim is for 60."), old], "claim")) == [
            "The claim is for 60.",
            "The claim is for 50.",
        ]

    async def test_of_equals_a_standing_instruction_is_first(self, wordy: Backend, firm: FirmOfTest) -> None:
        drafts = [personal("Claim form one.", MemoryType.INSTRUCTION), personal("Claim form two.", MemoryType.FACT)]
        assert order(await ranked(wordy, firm, drafts, "claim form"))[0] == "Claim form one."

    async def test_neither_lifts_the_unrelated_over_the_related(self, wordy: Backend, firm: FirmOfTest) -> None:
        related = replace(personal("The claim is old."), captured_at=NOW - timedelta(days=3650))
        unrelated = personal("Use short words.", MemoryType.INSTRUCTION)
        assert order(await ranked(wordy, firm, [related, unrelated], "claim"))[0] == "The claim is old."

    @pytest.mark.parametrize("year", [1, 1900, 9999])
    async def test_a_time_far_off_is_only_a_time(self, wordy: Backend, firm: FirmOfTest, year: int) -> None:
        far = replace(personal("The claim is old."), captured_at=datetime(year, 1, 2, tzinfo=UTC))
        (hit,) = await ranked(wordy, firm, [far], "claim")
        assert 0 <= hit.score < 2


class TestMeaning:
    async def test_weighs_as_much_as_words(self, backend: Backend, firm: FirmOfTest) -> None:
        drafts = [personal("The puppy sleeps."), personal("A contract was signed."), personal("It rained in Leeds.")]
        hits = await ranked(backend, firm, drafts, "a young dog naps")
        assert order(hits)[0] == "The puppy sleeps."
        assert hits[0].cosine is not None and hits[1].cosine is not None and hits[0].cosine > hits[1].cosine

    async def test_scores_of_a_bucket_of_one_are_no_division_by_zero(self, backend: Backend, firm: FirmOfTest) -> None:
        (hit,) = await ranked(backend, firm, [personal("The puppy sleeps.")], "puppy")
        assert 0 < hit.score <= 2
