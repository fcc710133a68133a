"""A daemon's counts and gauges in Prometheus's form. docs/observing.md lists every name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from tooltoolexec_executor.memory import Memory
from tooltoolexec_executor.state import VERSION_NUMBER, DaemonState
from tooltoolexec_executor.tally import DEATHS, OUTCOMES, REFUSALS, Distribution

_Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily | InfoMetricFamily


def registry_of(state: DaemonState) -> CollectorRegistry:
    """What is to be rendered for a scrape; everything is read then."""
    registry = CollectorRegistry()
    registry.register(_Counts(state))
    registry.register(_Gauges(state))
    ProcessCollector(registry=registry)
    return registry


class _Counts(Collector):
    def __init__(self, state: DaemonState) -> None:
        self._state = state

    def collect(self) -> Iterator[_Family]:
        tally = self._state.tally
        yield InfoMetricFamily("tooltoolexec_build", "The daemon's version.", {"version": VERSION_NUMBER})
        yield _counter("runs", "Runs that ended, by how.", "outcome", tally.runs, OUTCOMES)
        yield _histogram("run_seconds", "From a run's start on its worker to its end.", tally.run_s)
        yield _histogram("queue_seconds", "How long runs that got a worker waited for it.", tally.queue_s)
        yield _counter("refusals", "Clients refused, by code.", "code", tally.refused, REFUSALS)
        yield _counter("worker_deaths", "Workers that ended, by cause.", "cause", tally.deaths, DEATHS)
        yield CounterMetricFamily(
            "tooltoolexec_zygotes_started", "Processes started that fork workers.", value=tally.zygotes
        )


class _Gauges(Collector):
    def __init__(self, state: DaemonState) -> None:
        self._state = state
        self._memory = Memory(state.pool.families)

    def collect(self) -> Iterator[_Family]:
        state, bounds = self._state, self._state.admission.bounds
        values = {
            "runs_computing": ("Runs that compute.", state.admission.computing),
            "runs_computing_limit": ("How many may.", bounds.computing),
            "runs_parked": ("Runs that wait for tools or timers.", state.admission.parked),
            "runs_parked_limit": ("How many may.", bounds.parked),
            "runs_queued": ("Runs that wait for a worker.", state.admission.queued),
            "runs_queued_limit": ("How many may.", bounds.queue),
            "workers_idle": ("Workers that are ready for a run.", state.pool.idle),
            "workers_warming": ("Workers that will be.", state.pool.warming),
            "workers_memory_bytes": ("Memory of workers and of what forks them.", self._memory.bytes()),
            "connections": ("Connections without a run.", state.connections.now),
            "connections_limit": ("How many may be open.", state.connections.limit),
            "draining": ("Whether the daemon takes no more runs.", state.draining.is_set()),
        }
        for name, (meaning, value) in values.items():
            yield GaugeMetricFamily(f"tooltoolexec_{name}", meaning, value=value)


def _counter(name: str, meaning: str, label: str, counts: Counter[str], known: Collection[str]) -> CounterMetricFamily:
    """With a row for each known value from the start: a rate needs the zero before the first one."""
    family = CounterMetricFamily(f"tooltoolexec_{name}", meaning, labels=[label])
    for value in sorted({*known, *counts}):
        family.add_metric([value], counts[value])
    return family


def _histogram(name: str, meaning: str, distribution: Distribution) -> HistogramMetricFamily:
    buckets, so_far = [], 0
    bounds = [*(str(float(bound)) for bound in distribution.bounds), "+Inf"]
    for bound, count in zip(bounds, distribution.counts, strict=True):
        so_far += count
        buckets.append((bound, float(so_far)))
    return HistogramMetricFamily(f"tooltoolexec_{name}", meaning, buckets=buckets, sum_value=distribution.total)
