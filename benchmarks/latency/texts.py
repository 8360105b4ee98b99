"""Made-up memories and questions of a law firm: all different, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator

PEOPLE = """Alder Birch Castellan Dunmore Eastlake Farrow Grantham Hollis Ingram Jessop Kessler Lindqvist Marchetti
Novak Okonkwo Pemberton Quillon Rasmussen Sandoval Thackeray Ulrich Vance Whitcombe Xanthos Yarrow Zimmer Abernathy
Bellweather Crowhurst Delacroix Esterhazy Fontaine""".split()
ROLES = """arbitrator claimant counterparty director executor guarantor insurer investor landlord lender mediator
opposing-counsel partner plaintiff purchaser regulator seller shareholder tenant trustee witness accountant""".split()
SUBJECTS = """indemnity escrow non-compete earn-out severance royalty easement zoning merger bylaws lien foreclosure
subpoena deposition discovery injunction settlement retainer engagement disclosure warranty covenant patent trademark
licence franchise dividend audit custody probate guardianship bankruptcy jurisdiction arbitration venue""".split()
OBJECTS = """agreement brief clause contract counterclaim draft exhibit filing invoice letter memorandum motion notice
opinion order petition proposal report resolution schedule statement transcript""".split()
VERBS = """accepted amended approved challenged circulated countersigned delayed disputed executed negotiated postponed
received rejected renewed reviewed signed struck submitted translated waived withdrew""".split()
REASONS = """because the valuation was late|after a call with the board|subject to the lender's consent|so that costs stay
capped|as the limitation period ends soon|since two exhibits were missing|to keep the tax treatment|at the client's
request|before the hearing|despite our advice|once the audit closed|under a reservation of rights""".replace(
    "\n", " "
).split("|")
PLACES = """Delaware Geneva Rotterdam Lisbon Toronto Osaka Nairobi Austin Hamburg Leeds Antwerp Bergen Cork Denver
Edinburgh Fresno Galway Houston""".split()
MONTHS = """January February March April May June July August September October November December""".split()


def memories(seed: int) -> Iterator[str]:
    """One sentence or two each, without end; no two are the same."""
    draw = random.Random(seed)
    for number in range(1, 1_000_000):
        pick = draw.choice
        yield (
            f"{pick(PEOPLE)}, the {pick(ROLES)}, {pick(VERBS)} the {pick(SUBJECTS)} {pick(OBJECTS)} no. {number} in "
            f"{pick(PLACES)} on {draw.randint(1, 28)} {pick(MONTHS)} {pick(REASONS)}. The {pick(SUBJECTS)} "
            f"{pick(OBJECTS)} of {pick(PEOPLE)} is {pick(('open', 'settled', 'with us', 'with the other side'))}."
        )


def questions(seed: int) -> Iterator[str]:
    """Questions about such memories, without end; no two are the same, so that none is answered from a cache."""
    draw = random.Random(seed)
    for number in range(1, 1_000_000):
        pick = draw.choice
        yield (
            f"What did {pick(PEOPLE)} say about the {pick(SUBJECTS)} {pick(OBJECTS)} in {pick(PLACES)}, and who "
            f"{pick(VERBS)} no. {number}?"
        )
