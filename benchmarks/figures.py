"""Figures as the benchmarks print them: percentiles, and the machine on which they came about."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil  # type: ignore[import-untyped]  # it ships no types


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` percent of `values` lie, interpolated between its neighbours."""
    return float(np.percentile(values, share))


def milliseconds(seconds: Sequence[float], shares: Sequence[float] = (50, 95)) -> str:
    """Percentiles of durations, such as `p50 4.1 ms, p95 6.0 ms`."""
    return ", ".join(f"p{share:g} {1000 * percentile(seconds, share):.2f} ms" for share in shares)


def machine() -> str:
    """The processor, its cores, its memory, the system and Python, on one line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = psutil.virtual_memory().total / 2**30
    system = f"{platform.system()} {platform.release()}"
    return f"{_processor()}, {cores} cores, {memory:.0f} GiB, {system}, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
