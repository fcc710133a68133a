"""The doctor believes no layer: one that is taken and does not do what it is for is called off."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tooltoolexec_executor.doctor_acts import ACTS
from tooltoolexec_executor.doctor_trials import ALL, JITLESS_ACT, acts_of

HOLLOW = {
    "rlimits": "from tooltoolexec_executor.lockdown import rlimits; rlimits.apply = nothing",
    "no_new_privs": "from tooltoolexec_executor.lockdown import process; process.forgo_privileges = nothing",
    "not_dumpable": "from tooltoolexec_executor.lockdown import process; process.close_memory = nothing",
    "landlock": "from tooltoolexec_executor.lockdown import landlock; landlock.Ruleset.apply = nothing",
    "seccomp": "from tooltoolexec_executor.lockdown import seccomp; seccomp.Filter.load = nothing",
    "network": "from tooltoolexec_executor.lockdown import network; network.leave = network.leave_as_user = nothing",
    # One of the acts drops them itself.
    "capabilities": "import tooltoolexec_executor.doctor_acts\n"
    "from tooltoolexec_executor.lockdown import capabilities; capabilities.drop = nothing",
    "user": "from tooltoolexec_executor.lockdown import identity; identity.take = nothing",
}
PREPARATION = "def nothing(*_): return None\n"


def examined(preparation: str) -> tuple[int, dict[str, Any]]:
    """How the doctor ended, and its findings by name."""
    script = f"{PREPARATION}{preparation}\nfrom tooltoolexec_executor.doctor import doctor\ndoctor(['--json'])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=55, check=False)
    assert ran.stderr == ""
    return ran.returncode, {layer["name"]: layer for layer in json.loads(ran.stdout)["layers"]}


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    code, found = examined("")
    assert code == 0
    return found


@pytest.mark.parametrize("layer", HOLLOW)
def test_a_layer_that_refuses_nothing_is_off(layer: str, here: dict[str, Any]) -> None:
    if not here[layer]["refused"]:
        pytest.skip(f"{layer} is {here[layer]['state']} here: {here[layer]['why']}")
    code, found = examined(HOLLOW[layer])
    assert found[layer]["state"] == "off"
    assert found[layer]["why"].startswith("does not refuse: ")
    assert code == (1 if found[layer]["required"] else 0)


def test_the_worker_is_off_as_soon_as_one_act_is_not_refused(here: dict[str, Any]) -> None:
    code, found = examined(HOLLOW["seccomp"])
    assert here["worker"]["state"] == "on"
    assert found["worker"]["state"] == "off"
    assert "fork" in found["worker"]["why"]
    assert code == 1


def test_a_lock_down_under_which_v8_does_not_run_is_off() -> None:
    forgetful = "from tooltoolexec_executor.lockdown import seccomp; seccomp.ALLOWED.remove('munmap')"
    code, found = examined(f"{forgetful}; seccomp.ALLOWED.remove('futex')")
    assert (code, found["isolate"]["state"]) == (1, "off")


def test_each_act_is_some_layers_to_refuse() -> None:
    refused = {act for layer in ALL for act in acts_of(layer, landlock=7)}
    assert refused | {JITLESS_ACT} == set(ACTS)


def test_old_versions_of_landlock_are_asked_for_what_they_have() -> None:
    assert acts_of("landlock", landlock=1) == ("open a file",)
    assert acts_of("landlock", landlock=4) == ("open a file", "connect")
    assert acts_of("landlock", landlock=6) == ("open a file", "connect", "signal its parent")
