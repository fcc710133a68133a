"""`tooltoolexec run`: what goes where, and with which exit code."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.daemon import FakeDaemon, Peer
from serving import TOKEN, Certificates, ServedDaemon
from tooltoolexec_protocol import texts

from .conftest import Command, launch

TOOLS = """
import asyncio, time
from json import dumps

def add(a, b):
    print("adding")
    return a + b

async def later(value):
    await asyncio.sleep(0)
    return value

def nap(seconds):
    time.sleep(seconds)

def _hidden():
    return 1

class Shop: ...
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return write(tmp_path / "tools.py", TOOLS)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_result_is_json_on_standard_output(command: Command, tmp_path: Path) -> None:
    ended = command("run", write(tmp_path / "p.js", "() => ({ a: [1, null], b: new Uint8Array([1]), c: 'é' })"))
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == {
        "a": [1, None],
        "b": {"__executor_binary_v1__": "Uint8Array", "data": "AQ=="},
        "c": "é",
    }


def test_what_no_output_can_carry_is_escaped(command: Command, tmp_path: Path) -> None:
    ended = command("run", write(tmp_path / "p.js", r"() => '\ud800\u009b\u0000'"))
    assert ended.out == '"\\ud800\\u009b\\u0000"\n'


def test_logs_go_to_standard_error_without_what_a_terminal_obeys(command: Command, tmp_path: Path) -> None:
    ended = command("run", write(tmp_path / "p.js", r"() => { console.warn('\x1b[31mred\tand\nblue'); }"))
    assert (ended.code, ended.out, ended.err) == (0, "null\n", "[warn] \\x1b[31mred\tand\nblue\n")


def test_public_functions_of_the_file_are_tools(command: Command, tmp_path: Path, tools: Path) -> None:
    program = write(tmp_path / "p.js", "async () => [await tools.add(1, 2), await tools.later(3)]")
    ended = command("run", program, "--tools", tools)
    assert (ended.code, json.loads(ended.out)) == (0, [3, 3])
    assert ended.err == "adding\n"  # Standard output is the result's alone.


@pytest.mark.parametrize("name", ["_hidden", "dumps", "Shop", "asyncio"])
def test_nothing_else_of_the_file_is(name: str, command: Command, tmp_path: Path, tools: Path) -> None:
    ended = command("run", write(tmp_path / "p.js", f"() => tools.{name}()"), "--tools", tools)
    assert ended.code == 1
    assert f'Tool "{name}" not found' in ended.err


def test_the_provider_can_have_another_name(command: Command, tmp_path: Path, tools: Path) -> None:
    program = write(tmp_path / "p.js", "() => shop.add(1, 2)")
    assert command("run", program, "--tools", tools, "--provider", "shop").out == "3\n"


def test_a_list_of_providers_is_taken_by_its_word(command: Command, tmp_path: Path) -> None:
    text = "from tooltoolexec import Provider\ndef one(): return 1\n"
    text += "PROVIDERS = [Provider('a', [one]), Provider('b', [one])]"
    tools = write(tmp_path / "tools.py", text)
    program = write(tmp_path / "p.js", "async () => await a.one() + await b.one()")
    assert command("run", program, "--tools", tools).out == "2\n"
    assert command("run", program, "--tools", tools, "--provider", "c").is_one_line("leave --provider out")


def test_a_tools_file_may_import_its_neighbour_and_define_dataclasses(command: Command, tmp_path: Path) -> None:
    write(tmp_path / "neighbour_of_tools.py", "ONE = 1")
    text = """
from __future__ import annotations
from dataclasses import dataclass
from neighbour_of_tools import ONE
@dataclass
class Point:
    x: int
def point(): return Point(ONE)
"""
    program = write(tmp_path / "p.js", "() => tools.point()")
    ended = command("run", program, "--tools", write(tmp_path / "tools.py", text))
    assert json.loads(ended.out) == {"x": 1}


def test_a_failure_goes_to_standard_error_with_its_place(command: Command, tmp_path: Path) -> None:
    program = write(tmp_path / "p.js", "async () => {\n  throw new TypeError('no');\n}")
    ended = command("run", program)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"Failed (program): TypeError: no\n    at {program}:2:9\n"


def test_a_limit_is_an_option(command: Command, tmp_path: Path, tools: Path) -> None:
    program = write(tmp_path / "p.js", "() => tools.nap(0.5)")
    ended = command("run", program, "--tools", tools, "--wall-s", "0.05")
    assert ended.code == 1
    assert ended.err.startswith("Failed (timeout): Execution timed out after 50 ms.\n    detail: ")
    assert '"tool": "nap"' in ended.err


def test_more_than_the_daemon_allows_is_a_failure_of_the_run(command: Command, tmp_path: Path) -> None:
    ended = command("run", write(tmp_path / "p.js", "() => 1"), "--wall-s", "none")
    assert ended.code == 1
    assert "The limit wall_s of none is over this executor's maximum of 600." in ended.err


@pytest.mark.parametrize(("code", "source"), [(0, "() => { console.log('x'); return 1; }"), (1, "() => { throw 1; }")])
def test_json_is_the_whole_run_and_nothing_else(code: int, source: str, command: Command, tmp_path: Path) -> None:
    ended = command("run", write(tmp_path / "p.js", source), "--json")
    assert (ended.code, ended.err) == (code, "")
    run = json.loads(ended.out)
    assert run.keys() == {"id", "result", "error", "logs", "failure", "warnings", "stats"}
    assert run["stats"]["wall_s"] > 0
    assert (run["result"], run["logs"]) == ((1, ["x"]) if code == 0 else (None, []))


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_it_runs_on_a_daemon(kind: str, served: ServedDaemon, command: Command, tmp_path: Path, tools: Path) -> None:
    program = write(tmp_path / "p.js", "() => tools.add(1, 2)")
    assert command("run", program, "--tools", tools, "--connect", getattr(served, kind)).out == "3\n"


def test_it_runs_on_a_daemon_over_tls(served: ServedDaemon, command: Command, tmp_path: Path, tools: Path) -> None:
    program = write(tmp_path / "p.js", "() => tools.add(1, 2)")
    words = ["run", program, "--tools", tools, "--connect", served.tls, "--ca", served.certificates.ca]
    assert command(*words, "--token-file", write(tmp_path / "token", TOKEN)).out == "3\n"
    assert command(*words, "--token-file", write(tmp_path / "token", TOKEN[1:])).is_one_line(texts.UNAUTHORIZED)


@pytest.fixture
def tls_daemon() -> Iterator[FakeDaemon]:
    certificates = Certificates.shared()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.cert, certificates.key)
    context.verify_mode = ssl.CERT_REQUIRED
    certificates.authority.configure_trust(context)
    daemon = FakeDaemon(None, context)

    @daemon.script
    def finish(peer: Peer) -> None:
        peer.start()
        peer.done(peer.token)

    yield daemon
    daemon.close()


@pytest.mark.parametrize("by", ["options", "environment"])
def test_certificates_are_options_or_variables(
    by: str, tls_daemon: FakeDaemon, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program, certificates = write(tmp_path / "p.js", "1"), Certificates.shared()
    words = [f"--connect={tls_daemon.address}"]
    for name in ("ca", "cert", "key"):
        if by == "options":
            words.append(f"--{name}={getattr(certificates, name)}")
        else:
            monkeypatch.setenv(f"TOOLTOOLEXEC_{name.upper()}", str(getattr(certificates, name)))
    assert command("run", program, *words, "--server-name", "localhost") == (0, '""\n', "")


def test_the_files_of_the_environment_mean_nothing_without_tls(
    served: ServedDaemon, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOOLTOOLEXEC_CA", "/nowhere")
    program = write(tmp_path / "p.js", "1")
    assert command("run", program, "--connect", served.unix).out == "1\n"
    assert command("run", program).out == "1\n"


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("bare", "bare"),
        ("name t0ken\n", "t0ken"),
        ("# who may\n\n  name \t t0ken  \r\nother second\n", "t0ken"),
        (None, "of the environment"),
    ],
)
def test_the_token_comes_from_a_file_or_the_environment(
    text: str | None, token: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLTOOLEXEC_TOKEN", "of the environment\n")
    words = [] if text is None else ["--token-file", write(tmp_path / "tokens", text)]
    daemon = FakeDaemon(tmp_path)

    @daemon.script
    def finish(peer: Peer) -> None:
        peer.start()
        peer.done(peer.token)

    ended = command("run", write(tmp_path / "p.js", "1"), "--connect", daemon.address, *words)
    daemon.close()
    assert json.loads(ended.out) == token


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (None, "Cannot read {file}: No such file or directory"),
        (b"", "{file} has no token"),
        (b"# name token\n\n", "{file} has no token"),
        (b"a b c\n", "{file} has no token"),
        (b"\xff\xfe", "{file} is no UTF-8 text"),
        (b"name sha256:" + b"0" * 64, "which is for the daemon: write the token itself"),
    ],
)
def test_a_token_file_without_one_is_told_in_one_line(
    data: bytes | None, part: str, tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "tokens"
    if data is not None:
        file.write_bytes(data)
    ended = command("status", "--connect", f"unix:{tmp_path}/none.sock", "--token-file", file)
    assert ended.is_one_line(part.format(file=file))


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--ca", "x"], "--ca is for a daemon elsewhere: add --connect"),
        (["--token-file", "x"], "--token-file is for a daemon elsewhere: add --connect"),
        (["--connect", "unix:/x", "--ca", "x"], "--ca is for tls:// addresses"),
        (["--connect", "tcp://x:1", "--server-name", "x"], "--server-name is for tls:// addresses"),
        (["--connect", "tls://x:1", "--cert", "x"], "--cert is given without --key"),
        (["--connect", "tls://x:1", "--ca", "/none"], "the file /none (--ca) cannot be read"),
        (["--connect", "tls://x:1", "--server-name", ""], "--server-name is a host name"),
    ],
)
def test_options_of_tls_in_the_wrong_place_are_told_in_one_line(
    words: list[str], part: str, tmp_path: Path, command: Command
) -> None:
    assert command("run", write(tmp_path / "p.js", "1"), *words).is_one_line(part)


def test_what_to_pass_is_told_in_the_commands_words(served: ServedDaemon, command: Command, tmp_path: Path) -> None:
    ended = command("run", write(tmp_path / "p.js", "1"), "--connect", served.tls)
    assert ended.is_one_line("Pass --ca=PATH if it is signed by an authority of your own.")
    assert "Start a daemon" not in ended.err


def test_the_address_may_stand_in_the_environment(
    served: ServedDaemon, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLTOOLEXEC_CONNECT", served.unix)
    assert json.loads(command("status", "--json").out)["pid"] == served.pid


def test_a_dash_reads_standard_input() -> None:
    with launch("run", "-") as process:
        assert process.communicate("() => 6 * 7", timeout=30) == ("42\n", "")
    assert process.returncode == 0


@pytest.mark.parametrize(("closed", "out"), [("2>&-", "1\n"), ("2>&- <&-", "1\n"), (">&-", ""), (">&- 2>&- <&-", "")])
def test_closed_standard_descriptors_keep_nothing_from_working(closed: str, out: str, tmp_path: Path) -> None:
    (tmp_path / "p.js").write_text("() => { console.log('a'); return 1; }")
    program = "from tooltoolexec.cli import main; main()"
    script = f'exec "$0" -c "$1" run "$2" {closed}'
    words = ["sh", "-c", script, sys.executable, program, str(tmp_path / "p.js")]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=50, check=False)
    assert (ran.returncode, ran.stdout) == (0, out)
    assert ran.stderr == ("" if "2>&-" in closed else "a\n")


def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path) -> None:
    program = write(tmp_path / "p.js", "() => 'x'.repeat(1e6)")
    with launch("run", program) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    "source", ["() => { console.log('on'); for (;;); }", "() => { console.log('on'); return tools.nap(30); }"]
)
def test_ctrl_c_ends_the_run_at_once_with_one_line(source: str, tmp_path: Path, tools: Path) -> None:
    with launch(
        "run", write(tmp_path / "p.js", source), "--tools", tools, "--wall-s", "60", "--cpu-s", "60"
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "on\n"
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "tooltoolexec: Interrupted.\n"
        assert process.wait(20) == 130
        assert time.monotonic() - begun < 15


def test_ctrl_c_while_the_tools_file_loads_is_one_line_too(tmp_path: Path) -> None:
    tools = write(tmp_path / "tools.py", "import time\nprint('on', flush=True)\ntime.sleep(30)")
    with launch("run", write(tmp_path / "p.js", "() => 1"), "--tools", tools) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "on\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "tooltoolexec: Interrupted.\n"
        assert process.wait(20) == 130


def test_a_killed_command_leaves_nothing_behind(tmp_path: Path) -> None:
    from serving import Family  # noqa: PLC0415

    source = "() => { console.log('on'); return new Promise((resolve) => setTimeout(resolve, 30000)); }"
    process = launch("run", write(tmp_path / "p.js", source), "--wall-s", "60", stdout=subprocess.DEVNULL)
    with process:
        assert process.stderr is not None
        process.stderr.readline()
        family = Family(process.pid)
        assert family.size >= 3
        process.kill()
    assert family.ends_within(10)
