# ruff: noqa: E501 - a program stands on one line.
"""What a model is told to do about each failure of a real run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import anyio
import pytest

from tooltoolexec import Limits, Provider, Run, ToolNotFoundError, sync
from tooltoolexec.describe.context import Context
from tooltoolexec.describe.hints import hint_for
from tooltoolexec.describe.nothing import no_value
from tooltoolexec.sync import BlockingExecutor
from tooltoolexec_protocol import texts
from tooltoolexec_protocol.messages import FAILURE_KINDS, Execute, Failure, ProviderSpec

PROVIDERS = [
    Provider("store", ["find_user", "list-issues", "hang", "delete"]),
    Provider("mail", ["send", "find_user"], positional_args=False),
]
LIMITS = Limits(wall_s=0.4, cpu_s=0.2, memory_mb=32, payload_bytes=4096, calls=3)


@pytest.fixture(scope="module")
def executor() -> Iterator[BlockingExecutor]:
    with sync.local() as opened:
        yield opened


async def dispatch(provider: str, tool: str, _args: str) -> str:
    if tool == "hang":
        await anyio.sleep_forever()
    if tool not in (("send",) if provider == "mail" else ("find_user", "list-issues", "delete")):
        raise ToolNotFoundError(tool)
    if tool == "delete":
        raise ValueError(f"{tool} failed (internal error)")
    return '"no envelope"' if provider == "mail" else '{"result":{"name":"Ada"}}'


def hint(executor: BlockingExecutor, code: str, **options: Any) -> str:
    return hint_in(executor.execute(code, PROVIDERS, **{"dispatch": dispatch, "limits": LIMITS, **options}))


def hint_in(run: Run) -> str:
    """The hint's text, which must be one line of the text for the model."""
    lines = [line for line in run.for_model().split("\n") if line.startswith("Hint: ")]
    assert run.failure is not None
    assert len(lines) <= 1
    return lines[0].removeprefix("Hint: ") if lines else ""


NAMES = {
    "await store.find_usr()": "Did you mean store.find_user or mail.find_user?",
    "await store.findUser()": "Did you mean store.find_user or mail.find_user?",
    "await store.send()": "It is a tool of mail.send; as it was called here, nothing answers it.",
    "await store.lst_issues()": "Did you mean store.list_issues?",
    "await store.zzz()": "The tools of this run are store.find_user, store.list_issues, store.hang, store.delete_, mail.send, mail.find_user.",
    "await stroe.find_user()": "Did you mean store?",
    "await find_user()": "It is a tool: write await store.find_user(…) or mail.find_user(…).",
    "await list_issues()": "It is a tool: write await store.list_issues(…).",
    "const total = 1; return totl": "Did you mean total?",
    "return jSON.parse('1')": "Did you mean JSON?",
    "return wholly_unknown_name": "Declare it first; the tools are under store, mail.",
    "return require('fs')": "There are no modules here: use the language's own library and the tools of this run.",
    "return process.env": "There is no process here: no environment, arguments or exit; end the program with return.",
    "return fs.readFileSync('x')": "There are no files here: use the tools of this run, or keep data in variables.",
    "return Buffer.from('x')": "Use Uint8Array and TextEncoder; for base64 there are toBase64() and Uint8Array.fromBase64().",
    "return WebAssembly": "WebAssembly is not available: write it in JavaScript.",
    "store()": "store holds tools and is none itself: write await store.find_user(…).",
    "return usr": "Declare it first; the tools are under store, mail.",
    "return wind": "Declare it first; the tools are under store, mail.",
    "return arrange([])": "Declare it first; the tools are under store, mail.",
    "rows = []; return rows": "Declare it with let or const.",
    "find_user = await store.find_user()": "Declare it with let or const.",
    "if (rows == 1 || (rows => 1)) return 1": "Declare it first; the tools are under store, mail.",
    "module.exports = async () => 1": "There are no modules here: use the language's own library and the tools of this run.",
    "const o = {}; o.ad(1)": "Look at the value first",
    "const o = {}; o.summary()": "Look at the value first",
    "[].flatmap(x => x)": "Did you mean flatMap?",
    "'x'.toUppercase()": "Did you mean toUpperCase?",
    "const o = {}; o.go()": "Look at the value first, with console.log, or check that a call before it was awaited.",
}  # fmt: skip


@pytest.mark.parametrize("body", NAMES)
def test_a_name_that_is_wrong_leads_to_the_right_one(body: str, executor: BlockingExecutor) -> None:
    assert hint(executor, f"async () => {{ {body} }}").startswith(NAMES[body])


AWAITS = {
    "const u = store.find_user();\nreturn u.profile.name": "store.find_user was called without await at line 1, so its value is a promise: write await store.find_user(…).",
    "const u = store.list_issues();\nreturn u.map(x => x)": "store.list-issues was called without await at line 1, so its value is a promise: write await store.list_issues(…).",
    "const u = store['list-issues']();\nfor (const x of u) x": "store.list-issues was called without await at line 1, so its value is a promise: write await store.list_issues(…).",
    "for (let i = 0; i < 2; i++) {\n  const u = store.find_user()\n  u.x.y\n}": "store.find_user was called without await at line 2, so its value is a promise: write await store.find_user(…).",
    "return { user: store.find_user() }": "Write await before the call that is to give user; for a list of calls, await Promise.all(list).",
    "return [1, [store.find_user()]]": "Write await before the call that is to give [1][0]; for a list of calls, await Promise.all(list).",
    "await store.find_user(store.find_user())": "Write await before the call that is to give argument 1; for a list of calls, await Promise.all(list).",
    "const r = fetch('http://localhost/');\nreturn r.headers.get('x')": "fetch was called without await at line 1, so its value is a promise: write await fetch(…).",
    "const u = await store.find_user(); return u.profile.name": "The value before it is undefined: check it with ?. or log it to see what it holds.",
    "null.x = 1": "The value before it is null: check it with ?. or log it to see what it holds.",
    "for (const x of await store.find_user()) x": "It is no array: log it to see what it holds, or take Object.entries of an object.",
}  # fmt: skip


READ = "store.find_user gives a promise, which line 1 reads before it is awaited: write (await store.find_user(…)) and only then read of it."
ORDINARY = "The value before it is undefined: check it with ?. or log it to see what it holds."

# Whole programs: the first `await` is far from what fails.
BLAMED = {
    "store.hang('x');\nconst cfg = await store.find_user();\nreturn cfg.a.b;": ORDINARY,
    "const u = store.hang();\nconst cfg = await store.find_user();\nreturn cfg.a.b;": ORDINARY,
    "store.hang(); const cfg = await store.find_user(); return cfg.a.b;": ORDINARY,
    "const cfg = await store.find_user();\nreturn [store.hang(), cfg.a.b];": ORDINARY,
    "const u = store.hang(); const o = {};\nreturn o.go()": "Look at the value first, with console.log, or check that a call before it was awaited.",
    "const u = store.find_user();\nreturn u.a.b;": "store.find_user was called without await at line 1, so its value is a promise: write await store.find_user(…).",
    "let u;\nu = store.find_user();\nreturn u.a.b;": "store.find_user was called without await at line 2, so its value is a promise: write await store.find_user(…).",
    "const u: User = store.find_user<User>(7);\nreturn u.a.b;": "store.find_user was called without await at line 1, so its value is a promise: write await store.find_user(…).",
    "const { data, next } = store.find_user();\nreturn data.map((x) => x);": "store.find_user was called without await at line 1, so its value is a promise: write await store.find_user(…).",
    "const u = store.find_user();\nconst { a: { b } } = u;": "store.find_user was called without await at line 1, so its value is a promise: write await store.find_user(…).",
    "const u = store.find_user();\nconst [first] = u;": "store.find_user was called without await at line 1, so its value is a promise: write await store.find_user(…).",
    "return [...store.find_user()]": "store.find_user was called without await at line 1, so its value is a promise: write await store.find_user(…).",
    "const a = store.hang();\nconst u = store.find_user();\nreturn u.a.b;": "store.find_user was called without await at line 2, so its value is a promise: write await store.find_user(…).",
    "return await store.find_user([1]).map((o) => o.id)": READ,
    "return await store.find_user(')', \"(\", `(`, /* ( */ [1]).name.first": READ,
    "const a = await store\n  .find_user({ id: 1 })\n  .map((o) => o);": READ,
    "return store.find_user().map((o) => o.id)": READ,
    "const { a } = await store.find_user().row": READ,
    "const r = await fetch('http://localhost/').json()": "fetch gives a promise, which line 1 reads before it is awaited: write (await fetch(…)) and only then read of it.",
    "async ({ store }) => await store.find_user()": "A program is called without arguments: store is in scope already.",
    "function main({ mail, store }) { return store.find_user() }": "A program is called without arguments: mail is in scope already.",
    "async (store) => store.find_user()": "A program is called without arguments: store is in scope already.",
}  # fmt: skip


@pytest.mark.parametrize("code", BLAMED)
def test_only_the_call_that_the_failure_is_due_to_is_blamed(code: str, executor: BlockingExecutor) -> None:
    assert hint(executor, code) == BLAMED[code]


@pytest.mark.parametrize("body", AWAITS)
def test_a_missing_await_is_told_with_its_place(body: str, executor: BlockingExecutor) -> None:
    assert hint(executor, f"async () => {{ {body} }}") == AWAITS[body]


LIMITED = {
    "for (;;);": "The program was computing: look for a loop that never ends, or do less.",
    "await store.hang()": "It was waiting for store.hang: ask for less, or make calls at once with Promise.all.",
    "await Promise.all([store.hang(), mail.send().catch(() => 1), store.hang()])": "It was waiting for store.hang 2 times: ask for less.",
    "await new Promise((r) => setTimeout(r, 10000))": "No tool was pending, it was waiting for a timer or a request: wait for less.",
    "await new Promise(() => {})": "Look for a promise that nothing resolves",
    "const a = []; for (;;) a.push(new Array(10000).fill(a.length))": "Hold less at a time",
    "return 'x'.repeat(5000)": "Return less",
    "await store.find_user('x'.repeat(5000))": "Send less in one call: split it into several.",
    "for (let i = 0; i < 5; i++) await store.find_user(i)": "Make fewer calls",
    "return 1n": "Return the number as text: String(value).",
    "await store.find_user(1n)": "Pass the number as text: String(value).",
    "const o = {}; o.o = o; return o": "Return the fields you need instead of an object that holds itself.",
    "const o = {}; o.o = o; await store.find_user(o)": "Pass the fields that are needed instead of an object that holds itself.",
    "let o = {}; for (let i = 0; i < 600; i++) o = { o }; await store.find_user(o)": "Pass or return a flatter value.",
    "return await fetch('http://localhost/')": "Use the tools of this run instead: store, mail.",
    "__retainHandle(() => 1)": "Return data instead of a function.",
    "await mail.send()": "The tool is at fault, not the program: do without it.",
    "await store.delete()": "The tool failed on its own side",
    "JSON.parse(await store.find_user())": "What a tool gives is a value already: do not parse it.",
    "const f = () => f() + 1; f()": "A function calls itself without end",
    "const x = 1; x = 2": "Declare it with let instead of const.",
    "x = 1; let x": "Move its declaration above the line that uses it.",
    "const store = await store.find_user()": "store is the provider: give your variable another name.",
    "JSON.parse('<html>')": "The text is no JSON: check response.ok and look at it with text().",
    "JSON.parse('{a}')": "The text is no JSON: check response.ok",
    "JSON.parse('[1')": "The text is no JSON: check response.ok",
    "JSON.parse('')": "The text is no JSON: check response.ok",
    "JSON.parse([1, 2])": "The text is no JSON: check response.ok",
    "await import('fs')": "There are no modules here: use the language's own library and the tools of this run.",
    "await Promise.any([Promise.reject(1)])": "Each of them failed: use Promise.allSettled to see why.",
    "const f = ({ a }) => a; f()": "What is taken apart is undefined: log it to see, or give it a default.",
    "throw new Error('Not supported')": "",
    "Object.freeze([]).push(1)": "The object is frozen: copy it and change the copy.",
    "return 1n + 1": "Convert one side: Number(value) or BigInt(value).",
    "new Array(-1)": "It is too large: work in smaller parts.",
    "throw new Error('my own')": "",
}  # fmt: skip


@pytest.mark.parametrize("body", LIMITED)
def test_what_a_program_may_not_do_leads_to_what_it_may(body: str, executor: BlockingExecutor) -> None:
    options = {"limits": Limits(wall_s=0.2)} if body == "for (;;);" else {}
    found = hint(executor, f"async () => {{ {body} }}", **options)
    assert found.startswith(LIMITED[body])
    assert bool(found) == bool(LIMITED[body])


def test_a_program_that_only_computes_is_told_so_under_the_cpu_limit(executor: BlockingExecutor) -> None:
    assert hint(executor, "() => { for (;;); }", limits=Limits(wall_s=9, cpu_s=0.1)).startswith("Do less work")


def test_a_timeout_names_the_origin_that_did_not_answer(executor: BlockingExecutor) -> None:
    async def outbound(_request: object) -> NoReturn:
        await anyio.sleep_forever()
        raise AssertionError

    assert hint(executor, "() => fetch('http://slow.test/a')", outbound=outbound, limits=Limits(wall_s=0.2)) == (
        "It was waiting for fetch of http://slow.test: ask for less, or make calls at once with Promise.all."
    )


def test_without_a_dispatch_every_tool_is_missing_and_the_hint_says_why(executor: BlockingExecutor) -> None:
    assert hint(executor, "() => store.find_user()", dispatch=None) == (
        "No tools are connected in this run: do the work without calling any."
    )
    assert hint(executor, "() => fetch('http://localhost/')", dispatch=None) == "Do the work without the network."


def test_where_no_tool_is_declared_none_is_suggested(executor: BlockingExecutor) -> None:
    run = executor.execute("() => store.zzz()", [Provider("store")], dispatch=dispatch)
    assert hint_in(run) == "This run declares no tools by name: call only those you were told of."


SYNTAX = {
    "() => {": "A bracket, brace or quote is not closed",
    "() => { await 1 }": "Make the function around it async.",
    "() => { let a; let a }": "Declare a once, or rename the second one.",
    "() => 'x": "Look for a quote that is not closed",
    "ls -la /tmp": "This is no shell",
    "npm install left-pad": "Nothing was run: the line is not JavaScript",
    "SELECT * FROM t": "Nothing was run: the line is not JavaScript",
    "import fs from 'fs'": "Use the language's own library and the tools of this run instead.",
    "export const a = 1;": "Leave out the word export, or use export default.",
    "export async function f() {}\nconst a = 1;": "Leave out the word export, or use export default.",
    "const a = 1;\nexport { a };": "Leave out the word export, or use export default.",
}


@pytest.mark.parametrize("code", SYNTAX)
def test_a_program_that_does_not_parse_is_told_that_nothing_was_run_or_how_to_mend_it(
    code: str, executor: BlockingExecutor
) -> None:
    found = hint(executor, code)
    assert found.startswith(SYNTAX[code])
    assert found


@pytest.mark.parametrize("kind", sorted(FAILURE_KINDS - {"program", "unserializable"}))
def test_every_kind_but_a_programs_own_has_a_hint_with_and_without_the_request(kind: str) -> None:
    assert hint_for(Failure(kind=kind, message="anything"), [], None)


TIMEOUTS: list[tuple[Any, str]] = [
    (None, "The program was waiting: ask for less, or wait for less."),
    ({"state": "waiting"}, "The program was waiting: ask for less, or wait for less."),
    ({"state": "waiting", "calls": []}, "No tool was pending, it was waiting for a timer or a request: wait for less."),
    ({"state": "computing"}, "The program was computing: look for a loop that never ends, or do less."),
    ({"state": "computing", "calls": []}, "The program was computing: look for a loop that never ends, or do less."),
]


@pytest.mark.parametrize(("detail", "told"), TIMEOUTS)
def test_that_no_tool_was_pending_is_said_only_where_it_is_known(detail: Any, told: str) -> None:
    assert hint_for(Failure(kind="timeout", message=texts.timeout(1), detail=detail), [], None) == told


DETAILS: list[Any] = [None, 3, [], {}, {"state": 5}, {"state": "waiting", "calls": None}, {"state": "waiting", "calls": [3, {}, {"tool": []}]}]  # fmt: skip


@pytest.mark.parametrize("detail", DETAILS)
def test_no_detail_of_a_timeout_defeats_the_hint(detail: Any) -> None:
    assert hint_for(Failure(kind="timeout", message=texts.timeout(1), detail=detail), [], None)


@pytest.mark.parametrize(
    "message",
    ["", "x" * 10**6, 'Tool "' * 10**5, "a " * 10**5 + "is not defined", "is not a function " * 10**5, "\0\n\ud800"],
)
@pytest.mark.parametrize("kind", ["program", "unserializable", "syntax"])
def test_no_message_defeats_the_hint(kind: str, message: str) -> None:
    assert len(hint_for(Failure(kind=kind, message=message), ["w" * 10**6], None)) < 500


PIECES = [
    "s.get(",
    "s.get('",
    "s.get(`",
    "s.get(/*",
    "s  .get",
    "u = s.get(",
    "'\\",
    "{",
    "function ",
    "const a = (",
    "(",
    "\n",
    "x",
    " ",
    "a[",
]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize(
    "message", ["u.a is not a function", "Cannot read properties of undefined", "aaaa is not defined"]
)
def test_no_program_defeats_the_hint(piece: str, message: str) -> None:
    warnings = [texts.compose(texts.UNAWAITED, call="s.get", ending="finished")]
    for code in (piece * (100_000 // len(piece)), piece + " " * 100_000, piece + "x" * 100_000):
        context = Context(Execute(id="0" * 32, code=code, providers=[ProviderSpec(name="s", tools=["get"])]))
        failure = Failure(kind="program", message=message, line=1, column=50_000)
        assert len(hint_for(failure, warnings, context)) < 500
        assert len(no_value(code)) < 500
