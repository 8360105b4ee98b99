"""The settings, read once from the environment (and from `.env` in the working folder)."""

from __future__ import annotations

from pathlib import Path

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Everything that an operator can set. Each field is `NORTH_` and its name in capitals."""

    model_config = SettingsConfigDict(
        env_prefix="NORTH_",
        env_file=".env",
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
        populate_by_name=True,
    )

    database_url: SecretStr | None = Field(
        default=None,
        description="Postgres as `north_app`; serves every surface. Without it, the embedded server is used.",
    )
    owner_database_url: SecretStr | None = Field(
        default=None, description="Postgres as its owner or an administrator; only `north db` uses it."
    )
    scheduler_database_url: SecretStr | None = Field(
        default=None, description="Postgres as `scheduler_role`; only the nightly sweep uses it."
    )
    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_path("north")),
        description="Where the embedded Postgres and the generated secrets live.",
    )
    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: int = Field(default=8400, ge=1, le=65535, description="The port to listen on.")
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="The addresses of the reverse proxies in front, with commas between, which say who is asking.",
    )
    public_url: str | None = Field(
        default=None,
        description="The address under which browsers and hosts reach North; default `http://host:port`.",
    )
    secret_key: SecretStr | None = Field(
        default=None,
        description="Keys the hashes of tokens and sessions; 32 characters or more. `north up` makes its own.",
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("ANTHROPIC_API_KEY", "anthropic_api_key"),
        description="A key for Anthropic; with it, and without `NORTH_MODEL`, Claude answers.",
    )
    model: str | None = Field(
        default=None, description="The chat model as `provider:name` in pydantic-ai's names, or `offline`."
    )
    miner_model: str | None = Field(
        default=None, description="The model that mines idle threads; default: the chat model."
    )
    embedder: str = Field(
        default="local",
        description="`local` (MiniLM on this machine), `none`, or pydantic-ai's `provider:name`.",
    )
    memory_tokens: int = Field(
        default=4000, ge=200, le=100_000, description="How many tokens of memory a prompt may carry."
    )
    vector_cache_megabytes: int = Field(
        default=64, ge=0, le=1_000_000, description="How much memory, in MiB, vectors take that are kept for recall."
    )
    mine_idle_minutes: int = Field(default=10, ge=1, description="A thread idle this long, in minutes, is mined.")
    wall_hours: int = Field(
        default=12,
        ge=1,
        description="How long, in hours, a consultation without a session handle taints its client.",
    )
    netdocuments_client_id: str | None = Field(
        default=None,
        description="North's client id at NetDocuments; with its secret, lawyers can connect their accounts.",
    )
    netdocuments_client_secret: SecretStr | None = Field(
        default=None, description="The secret that goes with the client id at NetDocuments."
    )
    netdocuments_region: str = Field(
        default="us",
        description="Where the firm's repository is: `us`, `eu`, `de`, `au`, `ca`, or the domain of its web address.",
    )

    @field_validator("public_url")
    @classmethod
    def _no_trailing_slash(cls, value: str | None) -> str | None:
        return value.rstrip("/") if value else value

    @property
    def address(self) -> str:
        """The address under which people reach this server, without a trailing slash."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"http://{host}:{self.port}"

    @property
    def chat_model(self) -> str:
        """The model in use: the configured one, else Claude when there is a key, else `offline`."""
        if self.model:
            return self.model
        return "anthropic:claude-sonnet-5-5" if self.anthropic_api_key else "offline"


def read_settings(**overrides: object) -> Settings:
    """Read the settings once; `overrides` (command-line options that were given) win over the environment."""
    return Settings(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]
