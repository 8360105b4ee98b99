from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north.connectors.netdocuments_shapes import Cabinet, account_name, cabinets, document, documents

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["standardList", "list", "id", "name", "versionsLite", "lastMod", "standardAttributes", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


class TestDocuments:
    @pytest.mark.parametrize("wrapper", ["standardList", "list", "results"])
    def test_are_found_under_any_of_the_names_of_a_list(self, wrapper: str) -> None:
        assert [each.id for each in documents({wrapper: [{"id": "1"}, {"docId": "2"}, {"name": "no id"}]})] == [
            "1",
            "2",
        ]
        assert [each.id for each in documents([{"envId": ":Q1:a:^D1.nev"}])] == [":Q1:a:^D1.nev"]

    @pytest.mark.parametrize(
        ("versions", "official"),
        [
            ({"officialVersionId": "2"}, "2"),
            ({"official": 3}, "3"),
            ([{"versionId": "1", "official": False}, {"versionId": "2", "official": True}, {"versionId": "3"}], "2"),
            ([{"number": 1}, {"number": 4}], "4"),
            ([], None),
            ("odd", None),
        ],
    )
    def test_have_their_official_version_from_an_object_or_an_array(self, versions: Any, official: str | None) -> None:
        info = document({"id": "1", "versionsLite": versions})
        assert info is not None
        assert info.version == official

    @pytest.mark.parametrize(
        ("value", "day"),
        [
            ("/Date(1719792000000)/", date(2024, 7, 1)),
            ("/Date(1719792000000+0100)/", date(2024, 7, 1)),
            (1719792000000, date(2024, 7, 1)),
            ("2024-07-01T09:30:00Z", date(2024, 7, 1)),
            ({"date": "2024-07-01"}, date(2024, 7, 1)),
            ("yesterday", None),
            (10**40, None),
            (True, None),
            (None, None),
        ],
    )
    def test_have_their_day_in_any_of_the_forms(self, value: Any, day: date | None) -> None:
        info = document({"id": "1", "lastMod": value})
        assert info is not None
        assert info.modified == day

    def test_are_named_with_their_extension_once(self) -> None:
        for title in ("Lease", "Lease.DOCX"):
            info = document({"id": "1", "name": title, "extension": "docx"})
            assert info is not None
            assert info.name.lower() == "lease.docx"
        bare = document({"id": "1"})
        assert bare is not None
        assert bare.name == "1"


class TestOthers:
    def test_cabinets_need_an_id_and_have_a_name_at_least_from_it(self) -> None:
        assert cabinets([{"id": "NG-1", "name": "Clients"}, {"id": "NG-2"}, {"name": "None"}]) == [
            Cabinet("NG-1", "Clients"),
            Cabinet("NG-2", "NG-2"),
        ]

    def test_an_account_is_named_by_what_there_is(self) -> None:
        assert account_name({"displayName": " ", "email": "ana@firm.test"}) == "ana@firm.test"
        assert account_name([]) is None


@given(json_values)
def test_no_answer_is_too_odd_to_be_read(body: Any) -> None:
    for found in (*documents(body), document(body)):
        assert found is None or (found.id and found.title)
    cabinets(body)
    account_name(body)
