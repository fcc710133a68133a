"""Whatever the user got wrong is one line on standard error, exit 2, and never a traceback."""

from __future__ import annotations

import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from serving import ServedDaemon

from .conftest import Command, launch

PROGRAM = "() => 1"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.js"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["run"], "Missing argument 'FILE'"),
        (["run", "{folder}/none.js"], "Cannot read {folder}/none.js: No such file or directory"),
        (["run", "{folder}"], "Is a directory"),
        (["run", "a\0b"], "no file name"),
        (["run", "{folder}/latin.js"], "no UTF-8 text (byte 9)"),
        (["run", "{folder}/p.js", "--nonsense"], "--nonsense"),
        (["run", "{folder}/p.js", "extra"], "extra"),
        (["run", "{folder}/p.js", "--wall-s", "soon"], "--wall-s takes a number or none, not 'soon'"),
        (["run", "{folder}/p.js", "--calls", "-1"], "calls must be a positive number"),
        (["run", "{folder}/p.js", "--wall-s", "nan"], "wall_s must be a positive number"),
        (["run", "{folder}/p.js", "--provider", "x"], "add --tools FILE.py"),
        (["run", "{folder}/p.js", "--connect", "somewhere"], "'somewhere' is no address. Write unix:"),
        (["run", "{folder}/p.js", "--connect", "tls://localhost:1"], "Start a daemon there"),
        (["run", "{folder}/p.js", "--connect", "unix:{folder}/none.sock"], "Start a daemon there"),
        (["run", "{folder}/p.js", "--connect", "unix:{folder}/p.js"], "Start a daemon there"),
        (["run", "{folder}/p.js", "--tools", "{folder}/none.py"], "Cannot read {folder}/none.py"),
        (["run", "{folder}/p.js", "--tools", "{folder}"], "Is a directory"),
        (["status"], "Say which daemon: --connect"),
        (["status", "--connect", "tcp://127.0.0.1:99999"], "is no address"),
        (["nonsense"], "No such command 'nonsense'. See tooltoolexec --help."),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    args: list[str], part: str, command: Command, tmp_path: Path, program: Path
) -> None:
    assert program.exists()
    (tmp_path / "latin.js").write_bytes(b"() => '1\xe9'")
    ended = command(*(arg.replace("{folder}", str(tmp_path)) for arg in args))
    assert ended.is_one_line(part.replace("{folder}", str(tmp_path))), ended


@pytest.mark.parametrize("words", [["run", "p.js"], ["status"]])
def test_a_refused_connection_is_told_in_one_line(
    words: list[str], command: Command, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # Bound, but nobody listens.
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        assert command(*words, "--connect", address).is_one_line(address, "Connection refused", "tooltoolexec serve")


def test_what_answers_and_is_no_daemon_is_told_in_one_line(command: Command, tmp_path: Path) -> None:
    server = "import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[1], flush=True)\n"
    server += "c, _ = s.accept()\nc.sendall(b'HTTP/1.1 400 Bad Request\\r\\n\\r\\n')\nc.recv(1 << 16)\nc.close()"
    with subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ended = command("status", "--connect", f"tcp://127.0.0.1:{process.stdout.readline().strip()}")
        process.kill()
    assert ended.is_one_line("Cannot connect to tcp://127.0.0.1:"), ended


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x = 1\ndef broken(:\n", ["line 2", "invalid syntax"]),
        ("x = 1\n\n1 / 0\n", ["line 3", "ZeroDivisionError: division by zero"]),
        ("def f():\n    raise KeyError('a\\nb')\nf()\n", ["line 2", "KeyError"]),
        ("import no_such_module_anywhere\n", ["line 1", "No module named 'no_such_module_anywhere'"]),
        ("import sys\nsys.exit(3)\n", ["line 2", "SystemExit: 3"]),
        ("open('/no/such/file')\n", ["line 1", "FileNotFoundError"]),
        ("x = '\0'\n", ["null bytes"]),
        ("x = 1\n", ["has no tools", "PROVIDERS"]),
        ("def _f(): ...\n", ["has no tools"]),
        ("PROVIDERS = 3\n", ["PROVIDERS = [Provider(...)]"]),
        ("PROVIDERS = [1]\n", ["PROVIDERS = [Provider(...)]"]),
    ],
)
def test_a_wrong_tools_file_is_told_with_its_line(
    text: str, parts: list[str], command: Command, program: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools.py"
    tools.write_text(text)
    ended = command("run", program, "--tools", tools)
    assert ended.is_one_line(str(tools), *parts), ended


def test_a_file_nobody_may_read_is_told_in_one_line(
    command: Command, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)  # Root may read everything.
    assert command("run", program).is_one_line(str(program), "Permission denied")
    assert command("run", "-", "--tools", program).code == 2


def test_a_program_larger_than_a_daemon_reads_is_told_in_one_line(command: Command, tmp_path: Path) -> None:
    program = tmp_path / "large.js"
    program.write_text("() => 1 //" + "x" * (9 << 20))
    assert command("run", program).is_one_line("8388608")


@pytest.mark.parametrize("missing", ["trio", "py_mini_racer"])
@pytest.mark.parametrize("words", [["run", "p.js"], ["serve", "--listen", "unix:/tmp/none.sock"]])
def test_without_the_executor_it_says_what_to_install(missing: str, words: list[str], program: Path) -> None:
    hide = (
        "import sys, importlib.util as u\n"
        f"sys.modules[{missing!r}] = None\n"
        f"real = u.find_spec\nu.find_spec = lambda name, *a: None if name == {missing!r} else real(name, *a)\n"
        "from tooltoolexec.cli import main\nmain()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", hide, *words],
        cwd=program.parent,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    assert "pip install 'tooltoolexec[executor]'" in ended.stderr


def test_help_names_every_command(command: Command) -> None:
    for args in ([], ["--help"]):
        ended = command(*args)
        assert ended.code == 0
        assert all(f"\n  {name} " in ended.out for name in ("run", "serve", "status"))


def test_version_is_that_of_the_distribution(command: Command) -> None:
    assert command("--version").out == f"tooltoolexec {metadata.version('tooltoolexec')}\n"


def test_status_is_a_table_for_people(served: ServedDaemon, command: Command) -> None:
    ended = command("status", "--connect", served.unix)
    # What other tests had refused is a row of its own.
    rows = [line.split()[0] for line in ended.out.splitlines() if not line.startswith("refused")]
    assert rows == ["daemon", "runs", "workers", "queue", "clients", "ended"]
    assert f"process {served.pid}" in ended.out


def test_the_script_is_installed_and_says_the_same() -> None:
    script = Path(sys.executable).with_name("tooltoolexec")
    ended = subprocess.run([script, "status"], capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    with launch("status") as process:
        assert process.communicate(timeout=30)[1] == ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("args", [("run",), ("run", "--json"), ("--help",)])
def test_an_output_that_takes_nothing_is_told_in_one_line(args: tuple[str, ...], program: Path) -> None:
    words = [*args, str(program)] if args[0] == "run" else list(args)
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", "from tooltoolexec.cli import main; main()", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "No space left on device" in ended.stderr
