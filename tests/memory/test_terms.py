from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north.memory.terms import (
    FUNCTION_WORDS,
    MAX_QUERY_TERMS,
    MAX_TERMS,
    TERM_LENGTH,
    matches_phrase,
    query_terms,
    terms,
)

any_text = st.text(st.characters(codec=None, exclude_categories=()))


def found(query: str, text: str) -> bool:
    """Whether everything that is asked stands in the text."""
    asked = query_terms(query)
    return bool(asked) and set(asked) <= set(terms(text))


class TestTerms:
    def test_are_stemmed_words_in_order_with_repeats(self) -> None:
        assert terms("Citing cases: cite the case, cited") == ["cite", "case", "cite", "the", "case", "cite"]

    def test_drop_the_possessive(self) -> None:
        assert terms("the client's and Smith’s") == ["the", "client", "and", "smith"]

    def test_hold_a_compound_by_its_parts_and_written_together(self) -> None:
        assert terms("HV-1001") == ["hv", "1001", "hv1001"]

    def test_keep_numbers(self) -> None:
        assert terms("14 June 2026") == ["14", "june", "2026"]

    def test_keep_the_vowel_signs_of_a_word_in_it(self) -> None:
        assert terms("भारत का संविधान") == ["भारत", "का", "संविधान"]

    def test_of_no_words_are_none(self) -> None:
        assert terms("") == terms(" …—!? ") == []

    def test_never_grow_beyond_their_limits(self) -> None:
        assert all(len(term) <= TERM_LENGTH for term in terms("x" * 2000 + " " + "क" + "\u093e" * 500))
        assert len(terms("\ufdfa" * 2000)) <= MAX_TERMS

    def test_are_the_same_from_many_threads_at_once(self) -> None:
        texts = [f"running{chr(97 + n % 26)}ings jumping cited filings {n}" for n in range(200)]
        expected = [terms(text) for text in texts]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(terms, texts)) == expected

    @given(any_text)
    def test_can_always_be_stored(self, text: str) -> None:
        for term in terms(text):
            assert 1 <= len(term) <= TERM_LENGTH
            assert "\0" not in term
            assert term.encode()


class TestQueryTerms:
    def test_leave_out_function_words(self) -> None:
        assert query_terms("What is the deadline for the answer?") == ["deadlin", "answer"]

    def test_keep_function_words_when_nothing_else_is_left(self) -> None:
        assert query_terms("Who are we?") == ["who", "are", "we"]

    def test_keep_words_that_the_law_uses(self) -> None:
        assert FUNCTION_WORDS.isdisjoint({"may", "will", "us"})
        assert query_terms("Is it due in May?") == ["due", "may"]

    def test_name_each_term_once(self) -> None:
        assert query_terms("cite cites cited citing the cite") == ["cite"]

    def test_ask_for_pairs_where_a_script_has_no_spaces(self) -> None:
        assert query_terms("律师费") == ["律师", "师费"]

    def test_of_a_pasted_document_are_its_beginning_and_its_end(self) -> None:
        pasted = " ".join(f"word{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}{n}x" for n in range(5000))
        asked = query_terms(f"Privileged memo. {pasted} Who is the arbitrator?")
        assert len(asked) == MAX_QUERY_TERMS
        assert asked[0] == "privileg"
        assert asked[-1] == "arbitr"

    def test_of_a_megabyte_of_combining_marks_take_no_time(self) -> None:
        started = time.perf_counter()
        assert query_terms("a" + "\u0301\u0327" * 500_000 + "b")
        assert time.perf_counter() - started < 1

    @given(any_text)
    def test_are_unique_and_asked_only_for_what_is_saved(self, text: str) -> None:
        asked = query_terms(text)
        assert len(asked) == len(set(asked)) <= MAX_QUERY_TERMS
        assert set(asked) <= set(terms(text))
        assert bool(asked) == bool(terms(text))


class TestFinding:
    @pytest.mark.parametrize(
        ("query", "text"),
        [
            # one number, however it is written
            ("HV-1001", "Closing of HV-1001 is in May"),
            ("hv1001", "Closing of HV-1001 is in May"),
            ("1001", "Closing of HV-1001 is in May"),
            ("HV–1001", "matter hv1001's closing"),
            ("1001", "matter hv1001's closing"),
            ("1,000,000", "a cap of 1000000 dollars"),
            ("1000000", "a cap of $1,000,000"),
            ("14", "due on the 14th"),
            # compounds and apostrophes
            ("email", "prefers e-mail"),
            ("O'Brien", "counsel is Ms. O’Brien"),
            ("brien", "counsel is Ms. O'Brien"),
            ("obrien", "counsel is Ms. O'Brien"),
            ("client", "the clients' wish"),
            ("R&D", "the R&D department"),
            # forms of the same letters
            ("file", "the ﬁles are ｆｉｌｅｄ"),
            ("cooperate", "co\u00adope\u200brate"),
            ("istanbul", "Sitz in İSTANBUL"),
            ("resume", "send the résumé"),
            ("Malmö", "office in Malmo"),
            # German
            ("Kündigungsfrist", "Die Kündigungsfrist beträgt drei Monate."),
            ("KÜNDIGUNGSFRIST", "Die Ku\u0308ndigungsfrist beträgt drei Monate."),
            ("gebuhr", "Die Gebühr ist fällig."),
            ("STRASSE", "in der Straße"),
            # scripts without spaces, and mixtures
            ("律师费", "根据合同第14条，律师费为三千元。"),
            ("14", "根据合同第14条，律师费为三千元。"),
            ("费", "根据合同第14条，律师费为三千元。"),
            ("契約書", "新しい契約書はAcme社が作る"),
            ("acme", "新しい契約書はAcme社が作る"),
            ("バッグ", "ﾊﾞｯｸﾞの輸入"),
            ("สัญญา", "สัญญาเช่ามีอายุสามปี"),
            ("ສັນຍາ", "ນີ້ແມ່ນສັນຍາເຊົ່າ"),
            ("កិច្ចសន្យា", "នេះជាកិច្ចសន្យាជួល"),
            ("စာချုပ်", "ဒီစာချုပ်အသစ်"),
            ("계약", "새 계약서를 보냈다"),
            ("법", "이 법은 새롭다"),
            # other scripts
            ("договор", "Новый Договор подписан"),
            ("संविधान", "भारत का संविधान"),
            ("عقد", "وُقِّعَ عَقْدٌ جديد"),
            ("١٤", "due on 14 June"),
            ("חוזה", "זהו חוֹזֶה חדש"),
            ("αθηνα", "Έδρα στην Αθήνα"),
            ("👍", "approved 👍🏽"),
            ("🇩🇪", "based in 🇩🇪"),
        ],
    )
    def test_a_text_by_its_own_words(self, query: str, text: str) -> None:
        assert found(query, text)

    def test_a_compound_also_where_it_is_written_together(self) -> None:
        assert set(query_terms("e-mail")) & set(terms("prefers an email")) == {"email"}

    @pytest.mark.parametrize(
        ("query", "text"),
        [
            ("1002", "HV-1001"),
            ("cat", "concatenate"),
            ("师律", "律师费"),
            (".*", "anything"),
            ("🇫🇷", "based in 🇩🇪"),
        ],
    )
    def test_nothing_else(self, query: str, text: str) -> None:
        assert not found(query, text)

    @given(any_text)
    def test_a_text_by_itself(self, text: str) -> None:
        assert found(text, text) == bool(terms(text))


class TestMatchesPhrase:
    @pytest.mark.parametrize(
        ("phrase", "text"),
        [
            ("medical leave", "Her MEDICAL   LEAVE starts Monday"),
            ("medical leave", "medical leaves"),
            ("settle", "They settled."),
            ("client's health", "the client’s health, again"),
            ("email", "send an e-mail"),
            ("e-mail", "send an email"),
            ("mail", "send an e-mail"),
            ("HV-1001", "about hv 1001"),
            ("hv1001", "about HV-1001"),
            ("to be", "that is to be decided"),
            ("病假", "她下周休病假。"),
            ("ลาป่วย", "เธอลาป่วยวันนี้"),
            ("병가", "그녀의 병가를 기록"),
        ],
    )
    def test_finds_its_words_one_after_another(self, phrase: str, text: str) -> None:
        assert matches_phrase(phrase, text)

    @pytest.mark.parametrize(
        ("phrase", "text"),
        [
            ("medical leave", "leave the medical file"),
            ("medical leave", "medical and parental leave"),
            ("medical leave", "medical"),
            ("art", "the start of the party"),
            ("", "anything"),
            ("  ", "anything"),
            ("…", "anything…"),
            (".*", "anything"),
            ("a|b", "b"),
            ("%", "100%"),
            ("[a-z]+", "word"),
            ("假病", "她下周休病假。"),
            ("anything", ""),
        ],
    )
    def test_finds_nothing_else(self, phrase: str, text: str) -> None:
        assert not matches_phrase(phrase, text)

    @given(any_text, any_text, any_text)
    def test_finds_any_phrase_between_spaces(self, before: str, phrase: str, after: str) -> None:
        assert matches_phrase(phrase, f"{before} \n {phrase} \n {after}") == bool(terms(phrase))
