from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.offline.run import evaluate
from north.chat.offline import Recognised, recognise
from north.chat.offline.rules import questions
from north.chat.offline.wording import standing_alone
from north.model import MemoryType, Scope

MONDAY = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def read(text: str, *, on_matter: bool = False) -> list[Recognised]:
    return recognise(text, on_matter=on_matter, now=MONDAY)


def contents(text: str, *, on_matter: bool = False) -> list[str]:
    return [item.content for item in read(text, on_matter=on_matter)]


class TestEvaluationSet:
    def test_is_large_and_mostly_of_what_must_not_be_saved(self) -> None:
        total = evaluate()["all"]
        to_keep = total.kept + len(total.missed)
        to_leave = total.rightly_left + len(total.wrongly_kept)
        assert to_keep + to_leave >= 170
        assert to_leave >= to_keep

    def test_precision_and_recall_hold(self) -> None:
        total = evaluate()["all"]
        assert total.precision >= 0.98, total.wrongly_kept
        assert total.recall >= 0.97, total.missed
        assert len(total.wrong_reading) <= 0.03 * total.kept, total.wrong_reading


class TestContent:
    @pytest.mark.parametrize(
        ("said", "kept"),
        [
            ("I always want citations in Bluebook form.", "The lawyer always wants citations in Bluebook form."),
            ("I'm a partner in the antitrust group", "The lawyer is a partner in the antitrust group."),
            ("My name is Ana Ruiz.", "The lawyer's name is Ana Ruiz."),
            ("Call me Ana.", "The lawyer wants to be called Ana."),
            ("I don't use footnotes in my letters.", "The lawyer does not use footnotes in their letters."),
            ("I've been a litigator for years", "The lawyer has been a litigator for years."),
            ("We always file under seal.", "The firm always files under seal."),
            ("Our policy is to reply in a day.", "The firm's policy is to reply in a day."),
            ("Please always cite the page.", "Always cite the page."),
            ("Don't use Latin phrases in my drafts.", "Don't use Latin phrases in the lawyer's drafts."),
            ("Keep your answers short.", "Keep North's answers short."),
            ("Our client is a Delaware LLC.", "The client is a Delaware LLC."),
            ("We decided to settle.", "We decided to settle."),
            ("Ich bevorzuge kurze Memos.", "Ich bevorzuge kurze Memos."),
        ],
    )
    def test_stands_alone_in_the_lawyers_own_words(self, said: str, kept: str) -> None:
        assert contents(said) == [kept]

    def test_evidence_is_a_verbatim_span_of_the_message(self) -> None:
        message = "Hello!  I’m a partner in tax,  and I prefer “short” memos.\n- We never   accept gifts."
        found = read(message)
        assert len(found) == 3
        assert all(item.evidence in message for item in found)

    @pytest.mark.parametrize(
        ("said", "kept"),
        [
            ("The reply is due tomorrow.", "The reply is due on Tuesday 1 December 2026."),
            ("The reply is due by tomorrow.", "The reply is due by Tuesday 1 December 2026."),
            ("The hearing is on Friday.", "The hearing is on Friday 4 December 2026."),
            ("The hearing is next Friday.", "The hearing is on Friday 11 December 2026."),
            ("The report is due in ten days.", "The report is due on Thursday 10 December 2026."),
            ("The hearing is on Friday 11 December.", "The hearing is on Friday 11 December."),
            ("The answer is due on 14 June.", "The answer is due on 14 June."),
            ("I never take calls on Friday.", "The lawyer never takes calls on Friday."),
        ],
    )
    def test_days_come_out_as_dates_except_in_habits(self, said: str, kept: str) -> None:
        assert contents(said) == [kept]

    def test_several_statements_are_several_memories(self) -> None:
        said = "My name is Lee and I prefer tables. By the way, we never agree to non-competes. Thanks!"
        assert [item.type for item in read(said)] == [
            MemoryType.IDENTITY,
            MemoryType.PREFERENCE,
            MemoryType.PLAYBOOK_RULE,
        ]

    def test_what_a_pattern_does_not_know_is_kept_on_request(self) -> None:
        assert contents("Jo handles all my travel.") == []
        assert contents("Remember that Jo handles all my travel.") == ["Jo handles all the lawyer's travel."]


class TestScope:
    def test_facts_belong_to_the_matter_and_preferences_to_the_lawyer(self) -> None:
        found = read("The client is a Delaware LLC. I prefer short memos. We always file under seal.", on_matter=True)
        assert [item.scope for item in found] == [Scope.MATTER, Scope.USER_PRIVATE, Scope.USER_PRIVATE]

    def test_without_a_matter_all_is_personal(self) -> None:
        found = read("The client is a Delaware LLC. The answer is due on 14 June. We decided to settle.")
        assert len(found) == 3
        assert {item.scope for item in found} == {Scope.USER_PRIVATE}


class TestOwnWords:
    def test_what_stands_before_a_pasted_mail_is_read_and_the_mail_is_not(self) -> None:
        message = "I prefer short replies.\n\nFrom: Tom\nSubject: Lease\n\nThe client is a Delaware LLC."
        assert contents(message, on_matter=True) == ["The lawyer prefers short replies."]

    def test_a_message_that_is_not_to_be_remembered_leaves_nothing_behind(self) -> None:
        assert read("Don't remember this: my name is Ana. I prefer short memos.") == []

    def test_a_long_text_is_taken_for_pasted(self) -> None:
        assert read("The client is a Delaware LLC. " * 80, on_matter=True) == []

    def test_abbreviations_do_not_end_a_sentence(self) -> None:
        assert contents("Our expert witness is Dr. Paula Stein of Orion Freight Inc. in Dayton.") == [
            "Our expert witness is Dr. Paula Stein of Orion Freight Inc. in Dayton."
        ]


class TestChanges:
    def test_a_correction_may_stand_in_the_sentence_after_it_is_announced(self) -> None:
        (item,) = read("That's wrong. The hearing is on 3 July.", on_matter=True)
        assert (item.kind, item.content) == ("update", "The hearing is on 3 July.")

    def test_a_forget_names_what_to_forget(self) -> None:
        assert [(item.kind, item.about) for item in read("Forget what I said about Bluebook.")] == [
            ("forget", "Bluebook")
        ]
        assert [(item.kind, item.about) for item in read("Forget that.")] == [("forget", None)]

    @pytest.mark.parametrize(
        ("correction", "corrected", "result"),
        [
            ("It is due 14 June.", "The answer is due on 12 June.", "The answer is due on 14 June."),
            ("14 June.", "The answer is due on Friday 12 June 2026.", "The answer is due on 14 June."),
            ("The deadline was moved to 20 June.", "The answer is due on 14 June.", "The answer is due on 20 June."),
            ("It's a Nevada LLC.", "The client is a Delaware LLC.", "The client is a Nevada LLC."),
            ("The client is a Nevada LLC.", "The client is a Delaware LLC.", "The client is a Nevada LLC."),
        ],
    )
    def test_a_correction_takes_what_it_leaves_out_from_the_memory(
        self, correction: str, corrected: str, result: str
    ) -> None:
        assert standing_alone(correction, corrected) == result


def test_questions_are_found_with_and_without_a_question_mark() -> None:
    assert questions("I prefer Bluebook. How do I cite a case? when is the answer due") == [
        "How do I cite a case?",
        "when is the answer due",
    ]


_WORDS = (
    "I always|The client is|no,|forget that|due on 14 June|tomorrow|Remember that|my|we|if|never|actually|Ich möchte"
)
_SIGNS = ["—", '"', "?", ".", "\n", "> ", "```", "Dr.", "’", "\u202e", "🙂", "\ud800", "\0"]
_FRAGMENTS = st.sampled_from([*_WORDS.split("|"), *_SIGNS])


@given(st.one_of(st.text(max_size=3000), st.lists(_FRAGMENTS, max_size=40).map(" ".join)), st.booleans())
def test_no_text_is_too_odd(text: str, on_matter: bool) -> None:
    for item in read(text, on_matter=on_matter):
        assert item.evidence in text
        assert item.content or item.kind == "forget"
        assert on_matter or item.scope is Scope.USER_PRIVATE
