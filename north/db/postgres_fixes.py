"""Holes in Postgres's row-level security, and the minor release of each major version that closed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fix:
    """A closed hole: `minors` gives the first sound minor release by major; other majors never had it."""

    cve: str
    what: str
    minors: Mapping[int, int]

    def fixed_in(self, server_version_number: int) -> str:
        """The release to update to, such as `18.6`."""
        major = server_version_number // 10_000
        return f"{major}.{self.minors[major]}"


# Source of each: https://www.postgresql.org/support/security/<CVE>/. Majors before 16 are not served at all.
FIXES = (
    Fix("CVE-2024-10976", "policies for single roles, in a query that runs under several", {16: 5, 17: 1}),
    Fix("CVE-2025-8713", "policies on partitioned or inherited tables, by sampled statistics", {16: 10, 17: 6}),
    Fix("CVE-2026-14666", "policies for single roles, after a role was changed", {16: 15, 17: 11, 18: 6}),
)


def missing_fixes(server_version_number: int) -> list[Fix]:
    """The fixes that a server lacks.

    Args:
        server_version_number: Postgres's `server_version_num`, such as 180004 for 18.4.
    """
    major, minor = divmod(server_version_number, 10_000)
    return [fix for fix in FIXES if major in fix.minors and minor < fix.minors[major]]
