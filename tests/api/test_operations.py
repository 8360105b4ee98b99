"""What the operator's tools see."""

from __future__ import annotations

import re

from north.assembly import Place, make_backend
from north.chat.models import make_model
from north.settings import Settings
from tests.api.conftest import Client, api_app, client_of, saved

OPERATIONS = "http://north.test"


async def metrics_of(client: Client) -> str:
    reply = await client.get(f"{OPERATIONS}/metrics", headers={"Authorization": ""})
    assert reply.headers["content-type"].startswith("text/plain")
    return reply.text


async def test_up_and_ready(anybody: Client) -> None:
    for path, status in (("/healthz", "up"), ("/readyz", "ready")):
        reply = await anybody.get(f"{OPERATIONS}{path}")
        assert (reply.status_code, reply.json()) == (200, {"status": status})


async def test_up_but_not_ready_without_a_database(settings: Settings) -> None:
    unreachable = make_backend(settings, Place("postgresql://north_app@127.0.0.1:9/north", "x" * 32))
    async with client_of(api_app(unreachable, make_model("offline", settings))) as client:
        assert (await client.get(f"{OPERATIONS}/healthz")).status_code == 200
        assert (await client.get(f"{OPERATIONS}/readyz")).status_code == 503


async def test_metrics_count_requests_saves_and_recalls_without_any_id_or_text(ana: Client) -> None:
    memory = await saved(ana, "The client is a Delaware LLC.")
    await ana.get(f"/memories/{memory['id']}")
    await ana.get("/nothing/secret-path")
    await ana.post("/recall", json={"query": "secret question"})
    metrics = await metrics_of(ana)
    assert 'north_http_requests_total{method="POST",route="/api/v1/memories",status="201"}' in metrics
    assert 'north_http_requests_total{method="GET",route="/api/v1/memories/{id}",status="200"}' in metrics
    assert 'north_http_request_seconds_count{method="POST",route="/api/v1/recall"}' in metrics
    assert 'north_api_saves_total{outcome="saved"}' in metrics
    assert "north_api_recalls_total " in metrics
    (kept,) = re.findall(r"^north_vector_cache_bytes (\S+)$", metrics, re.MULTILINE)
    assert float(kept) > 0
    for private in (memory["id"], "secret", "Delaware"):
        assert private not in metrics
