"""North's built-in assistant for when no model is configured: small deterministic rules, no language model."""

from north.chat.offline.model import offline_model
from north.chat.offline.rules import Recognised, recognise

__all__ = ["Recognised", "offline_model", "recognise"]
