"""How much is tried: once in the suite, and many times by `make prove-hostile`."""

from __future__ import annotations

import os

TIMES = int(os.environ.get("HOSTILE_TIMES", "1"))
SEED = int(os.environ.get("HOSTILE_SEED", "20261130"))
