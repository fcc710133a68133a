"""The image at work: a program from outside by TLS and with a token, and a lock-down that holds inside a container."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from serving import TOKEN, Certificates
from tooltoolexec import ConnectError, Limits, Provider, RefusedError, sync

from .image import Container, container, podman

BOMB = "() => { const kept = []; for (;;) kept.push(new Uint8Array(1 << 20).fill(1)); }"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Place:
    """A container, and how to reach it from outside."""

    def __init__(self, one: Container, port: int, certificates: Certificates) -> None:
        self.container, self.address, self.certificates = one, f"tls://127.0.0.1:{port}", certificates

    def connect(self, token: str = TOKEN) -> sync.BlockingExecutor:
        return sync.connect(self.address, token=token, ca=str(self.certificates.ca))


@pytest.fixture(scope="module")
def place(image: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    secrets = tmp_path_factory.mktemp("secrets")
    certificates = Certificates(secrets)
    (secrets / "tokens").write_text(f"tests {TOKEN}\n")
    # The daemon's user inside is no user of this machine.
    for file in secrets.iterdir():
        os.chown(file, 10001, 10001)
        file.chmod(0o400)
    secrets.chmod(0o755)
    port = free_port()
    with container(secrets, port=port, metrics=free_port()) as one:
        yield Place(one, port, certificates)


def test_a_program_from_outside_runs_over_tls_with_a_token(place: Place) -> None:
    def double(number: int) -> int:
        return 2 * number

    with place.connect() as executor:
        run = executor.execute("async () => await host.double(21)", [Provider("host", [double])])
    assert (run.result, run.error) == (42, None)


def test_without_the_token_or_the_authority_nobody_gets_in(place: Place) -> None:
    with pytest.raises(RefusedError), place.connect("not the token"):
        pass
    with pytest.raises(ConnectError, match="Pass ca="), sync.connect(place.address, token=TOKEN):
        pass


def test_the_lock_down_holds_inside(place: Place) -> None:
    ended = place.container.inside("tooltoolexec", "doctor")
    assert ended.returncode == 0, ended.stdout
    states = {words[0]: words[1] for words in map(str.split, ended.stdout.splitlines())}
    for layer in ("rlimits", "no_new_privs", "not_dumpable", "seccomp", "worker", "isolate"):
        assert states[layer] == "on", ended.stdout


def test_a_memory_bomb_ends_as_memory_and_the_container_lives(place: Place) -> None:
    with place.connect() as executor:
        for limit in (64, 512):
            run = executor.execute(BOMB, limits=Limits(memory_mb=limit))
            assert (run.failure and run.failure.kind) == "memory"
        assert executor.execute("() => 1").result == 1
    assert place.container.is_running()


def test_it_is_healthy_by_its_own_check_and_not_root_and_writes_nowhere(place: Place) -> None:
    checked = podman("healthcheck", "run", place.container.name)
    assert checked.returncode == 0, checked.stdout
    assert place.container.inside("id", "-u").stdout.strip() == "10001"
    assert place.container.inside("touch", "/opt/tooltoolexec/x").returncode != 0


def test_stopping_it_drains(place: Place) -> None:
    """The last one: nothing is left of the container."""

    def stop_and_wait() -> str:
        podman("kill", "--signal=TERM", place.container.name)
        return "stopping"

    with place.connect() as executor:
        run = executor.execute(
            "async () => { await host.stop_and_wait(); await new Promise(r => setTimeout(r, 300)); return 'ended' }",
            [Provider("host", [stop_and_wait])],
        )
    assert (run.result, run.error) == ("ended", None)
    podman("wait", place.container.name)
    assert place.container.exit_code() == "0"
    assert '"draining"' in place.container.log()
