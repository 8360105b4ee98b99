"""Numbers for the operator's dashboards: how many, how fast, how often what. No label holds an id or a text."""

from __future__ import annotations

import time
from collections.abc import Sequence

from prometheus_client import Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from north.db.jobs import Standing

REQUESTS = Counter("north_http_requests_total", "Requests answered.", ["method", "route", "status"])
SECONDS = Histogram(
    "north_http_request_seconds",
    "Time from a request's arrival to the end of its reply, in seconds.",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
)
SAVES = Counter("north_api_saves_total", "Saves over REST, by what became of them.", ["outcome"])
RECALLS = Counter("north_api_recalls_total", "Recalls over REST.")
VECTORS = Gauge("north_vector_cache_bytes", "Vectors that this process keeps for recall, in bytes.")
JOBS = Gauge("north_jobs", "Jobs that wait, run or have failed, by task.", ["task", "status"])
OLDEST_JOB_SECONDS = Gauge(
    "north_job_oldest_seconds", "How long the oldest job that is due has waited, by task.", ["task"]
)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def show_jobs(found: Sequence[Standing]) -> None:
    """Set the gauges of the jobs to what was found in the database."""
    JOBS.clear()
    OLDEST_JOB_SECONDS.clear()
    for each in found:
        JOBS.labels(each.task, each.status).set(each.jobs)
        if each.status == "waiting":
            OLDEST_JOB_SECONDS.labels(each.task).set(each.oldest_seconds)


class Measured:
    """Middleware that counts and times every request by the template of its route."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        finally:
            method = scope["method"] if scope["method"] in METHODS else "other"
            route = _route_of(scope)
            REQUESTS.labels(method, route, status).inc()
            SECONDS.labels(method, route).observe(time.perf_counter() - began)


def _route_of(scope: Scope) -> str:
    """The template under which the request was routed, with the mount's prefix; never the path itself."""
    mount: str = scope.get("root_path", "")
    path: str = getattr(scope.get("route"), "path", "")
    return mount + path or "unmatched"
