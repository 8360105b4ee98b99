"""Tokens at rest: encrypted for one row of one lawyer, under a key that the database does not hold."""

from __future__ import annotations

import json
import secrets
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from north.connectors.netdocuments_oauth import Tokens
from north.model import Caller

_NONCE_BYTES = 12
_KEY_BYTES = 32


def seal(secret_key: bytes, caller: Caller, connection_id: UUID, tokens: Tokens) -> bytes:
    """AES-256-GCM (NIST SP 800-38D) of the tokens, behind its random nonce.

    Firm, lawyer and row are authenticated with it, so that nothing can be read from another row.
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    text = json.dumps([tokens.access, tokens.refresh]).encode()
    return nonce + _cipher(secret_key).encrypt(nonce, text, _bound(caller, connection_id))


def unseal(secret_key: bytes, caller: Caller, connection_id: UUID, sealed: bytes) -> Tokens | None:
    """What was sealed; None when it was for another row, under another secret key, or was changed."""
    try:
        text = _cipher(secret_key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _bound(caller, connection_id))
    except (InvalidTag, ValueError):
        return None
    access, refresh = json.loads(text)
    return Tokens(access, refresh)


def _cipher(secret_key: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), _KEY_BYTES, salt=None, info=b"north connection tokens").derive(secret_key))


def _bound(caller: Caller, connection_id: UUID) -> bytes:
    return caller.organization_id.bytes + caller.user_id.bytes + connection_id.bytes
