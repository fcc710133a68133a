"""A daemon with --metrics, and its answers as Prometheus and probes get them."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from serving import PATIENCE_S, ServedDaemon, wait_until

Labels = tuple[tuple[str, str], ...]


class WatchedDaemon:
    """`port` is where it answers by HTTP."""

    def __init__(self, served: ServedDaemon) -> None:
        self.served = served
        wait_until(lambda: '"observable"' in "".join(served.log), "the address of /metrics")
        found = re.search(r'"observable", "address": "127.0.0.1:(\d+)"', "".join(served.log))
        assert found
        self.port = int(found[1])

    def ask(
        self, path: str, *, method: str = "GET", headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer, answer.read().decode()
        finally:
            connection.close()

    def samples(self) -> dict[str, dict[Labels, float]]:
        """By name, then by labels, as Prometheus' own parser reads them."""
        answer, text = self.ask("/metrics")
        assert answer.status == 200
        found: dict[str, dict[Labels, float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
        return found

    def value(self, name: str) -> float:
        """Of a metric without labels."""
        return self.samples()[f"tooltoolexec_{name}"][()]

    def counts(self, name: str) -> dict[str, float]:
        """Of a metric with one label: what is not zero, by the label's value."""
        return {labels[0][1]: count for labels, count in self.samples()[f"tooltoolexec_{name}"].items() if count}


@contextmanager
def watched(folder: Path, options: Sequence[str] = (), *, preparation: str = "") -> Iterator[WatchedDaemon]:
    """One on a port of its own, which lets nobody in by TCP without a token."""
    asked = ["--metrics", "127.0.0.1:0", *options]
    with ServedDaemon(folder, asked, preparation=preparation, with_tokens=True) as served:
        yield WatchedDaemon(served)
