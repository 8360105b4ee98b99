"""Which model answers, and what its failures mean to a lawyer."""

from __future__ import annotations

from typing import Any

from pydantic_ai import exceptions as failures
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider

from north.chat.offline import offline_model
from north.errors import (
    Misconfigured,
    ModelConfused,
    ModelOverLimit,
    ModelRejected,
    ModelTooSlow,
    ModelUnavailable,
    NorthError,
)
from north.settings import Settings


def make_model(name: str, settings: Settings) -> Model:
    """The model of this name: `offline`, or pydantic-ai's `provider:name`.

    Raises:
        Misconfigured: there is no such provider, or its key is missing.
    """
    if name == "offline":
        return offline_model()

    def provider_of(provider: str) -> Provider[Any]:
        if provider == "anthropic" and settings.anthropic_api_key:
            # Imported here, since its client takes longer to import than the rest of North.
            from pydantic_ai.providers.anthropic import AnthropicProvider

            return AnthropicProvider(api_key=settings.anthropic_api_key.get_secret_value())
        return infer_provider(provider)

    try:
        return infer_model(name, provider_of)
    except (failures.UserError, ValueError, ImportError) as error:
        raise Misconfigured(
            reason=f"the model `{name}` cannot be used ({error}). Set NORTH_MODEL to `offline` or `provider:name`"
        ) from error


def failure_of(error: Exception, model: str) -> NorthError:
    """A failure of the model, or of its provider, as the error that the lawyer sees."""
    match error:
        case failures.ModelRateLimitError() | failures.ModelQuotaExceededError() | failures.ModelOverloadedError():
            return ModelOverLimit(model=model)
        case failures.ModelTimeoutError() | failures.ModelRequestTimeout() | failures.RunTimedOut():
            return ModelTooSlow(model=model)
        case failures.ModelRequestRejectedError() | failures.ModelHTTPError(status_code=413):  # too large
            return ModelRejected(model=model, status=getattr(error, "status_code", "rejected"))
        case failures.ModelAPIError(__cause__=ValueError()):  # what came is not JSON
            return ModelConfused(model=model)
        case failures.ModelAPIError():
            return ModelUnavailable(model=model)
        case _:
            return ModelConfused(model=model)
