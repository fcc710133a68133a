"""Kubernetes' manifests and the compose file, against their schemas and against the daemon."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import pytest
import yaml

from tooltoolexec_executor.config import Config
from tooltoolexec_protocol.limits import DEFAULTS, MAXIMA, MIB, Limits

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
OBSERVING = ROOT / "docs" / "observing.md"
DEFAULT = Config()
GRACE_S = DEFAULT.grace_s
CLOSING_S = 3
HANDFUL = 5


def documents(file: Path) -> list[Any]:
    return [document for document in yaml.safe_load_all(file.read_text(encoding="utf-8")) if document]


def manifest(name: str) -> Any:
    return documents(DEPLOY / "kubernetes" / f"{name}.yaml")[0]


@pytest.mark.parametrize("version", ["1.27", "1.33"])
@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: str(file.stem))
def test_each_manifest_is_valid_and_says_nothing_unknown(file: Path, version: str) -> None:
    for document in documents(file):
        kubernetes_validate.validate(document, version, strict=True)


def test_there_is_a_manifest_of_each_kind() -> None:
    kinds = {document["kind"] for file in MANIFESTS for document in documents(file)}
    assert kinds == {
        "Deployment", "Service", "NetworkPolicy", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Secret",
    }  # fmt: skip


def test_the_pod_fits_the_restricted_standard() -> None:
    """Source: Kubernetes' Pod Security Standards, profile "restricted"."""
    pod = manifest("deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"] is True
    assert {tuple(volume) for volume in pod["volumes"]} == {("name", "secret"), ("name", "emptyDir")}


def test_the_parts_find_each_other() -> None:
    deployment = manifest("deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"].items() <= labels.items()
    ports = {port["name"] for port in deployment["template"]["spec"]["containers"][0]["ports"]}
    service = manifest("service")["spec"]
    assert service["selector"].items() <= labels.items()
    policy = manifest("networkpolicy")["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert manifest("disruptionbudget")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    named = {port["targetPort"] for port in service["ports"]}
    named |= {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    assert named <= ports
    assert manifest("autoscaler")["spec"]["scaleTargetRef"]["name"] == manifest("deployment")["metadata"]["name"]


def test_nothing_goes_out() -> None:
    policy = manifest("networkpolicy")["spec"]
    assert "Egress" in policy["policyTypes"]
    assert policy["egress"] == []


def test_everything_gives_runs_their_grace() -> None:
    pod = manifest("deployment")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > GRACE_S + CLOSING_S
    compose = documents(DEPLOY / "compose.yaml")[0]["services"]["tooltoolexec"]
    assert int(compose["stop_grace_period"].removesuffix("s")) > GRACE_S + CLOSING_S


def test_variables_that_are_set_are_settings() -> None:
    names = [field.name for field in msgspec.structs.fields(Config)]
    names += [f"{prefix}_{field.name}" for prefix in ("max", "default") for field in dataclasses.fields(Limits)]
    settings = {f"TOOLTOOLEXEC_{name.upper()}" for name in names}
    shown = "".join(file.read_text(encoding="utf-8") for file in DEPLOY.rglob("*") if file.is_file())
    named = set(re.findall(r"TOOLTOOLEXEC_[A-Z_]+", shown))
    assert named
    assert named <= settings


def test_the_limits_of_memory_and_tasks_are_those_that_the_page_reckons_out() -> None:
    """As "Sizing" in docs/operations.md has it, with the default `memory_mb` for each run that computes."""
    container = manifest("deployment")["spec"]["template"]["spec"]["containers"][0]
    variables = {variable["name"]: int(variable["value"]) for variable in container["env"]}
    workers, parked = variables["TOOLTOOLEXEC_WORKERS"], variables["TOOLTOOLEXEC_PARKED"]
    assert container["resources"]["limits"]["memory"] == "4Gi"
    assert needed_bytes(workers, parked, workers, DEFAULTS.memory_mb) < 4 << 30
    assert needed_bytes(workers, parked, HANDFUL, variables["TOOLTOOLEXEC_MAX_MEMORY_MB"]) < 4 << 30
    compose = documents(DEPLOY / "compose.yaml")[0]["services"]["tooltoolexec"]
    unit = (DEPLOY / "systemd" / "tooltoolexec.service").read_text(encoding="utf-8")
    assert compose["mem_limit"] == "8g"
    assert "MemoryMax=8G" in unit
    assert needed_bytes(DEFAULT.workers, DEFAULT.parked, DEFAULT.workers, DEFAULTS.memory_mb) < 8e9
    assert needed_bytes(DEFAULT.workers, DEFAULT.parked, HANDFUL, MAXIMA.memory_mb) < 8e9
    tasks = re.search(r"^TasksMax=(\d+)$", unit, re.MULTILINE)
    assert tasks is not None
    assert min(int(tasks[1]), compose["pids_limit"]) > 2 * (DEFAULT.workers + DEFAULT.parked + DEFAULT.warm) + 20


def needed_bytes(workers: int, parked: int, large: int, memory_mb: float) -> float:
    """What the page's formula comes to where so many runs are large at once."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    formula = re.search(r"^(\d+) MB \+ \(workers \+ parked \+ warm\) . (\d+) MB \+ \(runs that", page, re.MULTILINE)
    assert formula is not None
    fixed, each = int(formula[1]), int(formula[2])
    return 1e6 * (fixed + (workers + parked + DEFAULT.warm) * each) + large * memory_mb * MIB


def test_the_metric_for_scaling_is_one_that_there_is() -> None:
    metric = manifest("autoscaler")["spec"]["metrics"][0]["pods"]["metric"]["name"]
    assert f"`{metric}`" in OBSERVING.read_text(encoding="utf-8")


def test_the_compose_file_locks_the_container_down() -> None:
    """Its form is checked by compose itself where that is; here is what matters of it."""
    service = documents(DEPLOY / "compose.yaml")[0]["services"]["tooltoolexec"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(str(volume).endswith(":ro") for volume in service["volumes"])
