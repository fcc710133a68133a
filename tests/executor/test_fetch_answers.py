"""The wire's side of fetch: the record a request leaves in, and what becomes of each answer to it."""

from __future__ import annotations

from typing import Any

import pytest

from tooltoolexec_protocol import texts

from .isolates import Bench

OUTSIDE = ["TypeError", texts.OUTSIDE_ENVELOPE]
PROGRAM = """async () => {
  try {
    const init = { method: "POST", headers: { "X-A": "é" }, body: new Uint8Array([1, 2, 3]) };
    const response = await fetch("https://a.test/x#part", init);
    return [response.status, response.statusText, [...response.headers], await response.text()];
  } catch (error) {
    return [error.name, error.message];
  }
}"""


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def ends_with(bench: Bench, answer: str) -> Any:
    bench.records.clear()
    bench.start(PROGRAM, outbound=True)
    bench.answer((1, answer))
    return bench.taken("d")[0]["result"]


def test_a_request_leaves_as_one_record_numbered_with_the_calls() -> None:
    bench = Bench()
    bench.start("async () => { store.f(); " + PROGRAM[len("async () => {") :], outbound=True)
    assert [call[0] for call in bench.taken("c")] == [1]
    assert bench.taken("q") == [[2, "POST", "https://a.test/x", [["x-a", "é"]], "AQID"]]
    assert bench.mailbox.pending_calls == 2
    bench.answer((1, "{}"), (2, '{"result":{"status":200}}'))
    assert bench.taken("d")[0]["result"][0] == 200


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"result":{"status":200}}', [200, "", [], ""]),
        ('{"result":{"status":200,"headers":null,"body":null,"url":null,"statusText":null}}', [200, "", [], ""]),
        ('{"result":{"status":404,"statusText":"No","headers":[["B","1"],["a","2"],["b","3"]]}}',
         [404, "No", [["a", "2"], ["b", "1, 3"]], ""]),
        ('{"result":{"status":204,"body":{"__executor_binary_v1__":"Uint8Array","data":"w6k="}}}', [204, "", [], "é"]),
        ('{"error":"not allowed"}', ["TypeError", "not allowed"]),
        ('{"error":null,"result":{"status":200}}', [200, "", [], ""]),
        ('{"error":{"toString":1}}', ["TypeError", '{"toString":1}']),
    ],
)  # fmt: skip
def test_an_answer_is_a_response_or_a_type_error(bench: Bench, answer: str, expected: list[Any]) -> None:
    assert ends_with(bench, answer) == expected


@pytest.mark.parametrize(
    "result",
    [
        "null", "5", '"text"', "[]", "{}", '{"status":"200"}', '{"status":199}', '{"status":600}', '{"status":200.5}',
        '{"__proto__":{"status":200}}', '{"status":200,"headers":{}}', '{"status":200,"headers":[["a"]]}',
        '{"status":200,"headers":[["a","b","c"]]}', '{"status":200,"headers":[["a b","c"]]}',
        '{"status":200,"headers":[["a","b\\nc"]]}', '{"status":200,"headers":[["a",5]]}',
        '{"status":200,"headers":["ab"]}',
        '{"status":200,"body":"text"}', '{"status":200,"body":[1]}',
        '{"status":200,"body":{"__executor_binary_v1__":"ArrayBuffer","data":""}}',
    ],
)  # fmt: skip
def test_a_result_that_is_no_response_is_a_type_error(bench: Bench, result: str) -> None:
    assert ends_with(bench, '{"result":' + result + "}") == OUTSIDE


@pytest.mark.parametrize("answer", ["", "x", "null", "[]", "5"])
def test_an_answer_that_is_no_envelope_is_a_type_error(bench: Bench, answer: str) -> None:
    assert ends_with(bench, answer) == OUTSIDE
