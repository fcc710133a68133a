"""Provider names: four rules, their texts, their order; and the identifier a tool is reached by."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltoolexec_protocol.messages import ProviderSpec
from tooltoolexec_protocol.names import (
    REFUSED_WORDS,
    RESERVED_PROVIDER_NAMES,
    DeclarationError,
    check_providers,
    identifier_form,
    tool_aliases,
)

RESERVED = 'Provider name "console" is reserved. Give the provider a name the entry scope does not bind.'
NO_IDENTIFIER = (
    'Provider name "my-store" must be ASCII letters, digits, underscore and dollar, and must not start with a digit.'
)
REFUSED = (
    'Provider name "class" is on the list this executor refuses: every ECMAScript reserved word, the names strict '
    "mode reserves, and async. Pick a name outside it."
)
TWICE = 'Provider name "store" is declared twice. Give each provider its own name.'
THIRD_LIST = (
    "await break case catch class const continue debugger default delete do else enum export extends false finally "
    "for function if import in instanceof new null return super switch this throw true try typeof var void while "
    "with yield, implements interface let package private protected public static, arguments eval, async"
)


def refusal(*names: str) -> str | None:
    try:
        check_providers([ProviderSpec(name=name) for name in names])
    except DeclarationError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("names", "text"),
    [(["console"], RESERVED), (["my-store"], NO_IDENTIFIER), (["class"], REFUSED), (["store", "store"], TWICE)],
)
def test_each_rule_has_its_pinned_text(names: list[str], text: str) -> None:
    assert refusal(*names) == text


@pytest.mark.parametrize("name", ["store", "$", "_", "a1", "fetch", "A_$9", "then", "JSON", "of", "get", "Async"])
def test_an_ordinary_name_passes(name: str) -> None:
    assert refusal(name) is None


@pytest.mark.parametrize(
    "name", ["", "1a", "a-b", "a b", "a.b", "é", "a\n", "\na", "a\0", "\ud800", "#a", "\u0661", "a\u0661", "\u017f"]
)
def test_what_is_no_ascii_identifier_is_refused_by_the_second_rule(name: str) -> None:
    assert refusal(name) == NO_IDENTIFIER.replace("my-store", name)


@pytest.mark.parametrize("name", sorted(REFUSED_WORDS))
def test_each_word_of_the_third_list_is_refused(name: str) -> None:
    assert refusal(name) == REFUSED.replace("class", name, 1)


@pytest.mark.parametrize("name", sorted(RESERVED_PROVIDER_NAMES))
def test_each_reserved_name_is_refused_by_the_first_rule(name: str) -> None:
    assert refusal(name) == RESERVED.replace("console", name)


def test_the_third_list_is_the_promised_one() -> None:
    assert set(re.findall(r"\w+", THIRD_LIST)) == REFUSED_WORDS


def test_the_reserved_names_hold_the_promised_ones() -> None:
    assert {
        "console", "__dispatch", "__stringifyForDispatch", "__parseForDispatch", "__retainHandle", "undefined", "NaN",
        "Infinity",
    } <= RESERVED_PROVIDER_NAMES  # fmt: skip
    assert "fetch" not in RESERVED_PROVIDER_NAMES
    assert not RESERVED_PROVIDER_NAMES & REFUSED_WORDS


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["store", "my-store", "console"], NO_IDENTIFIER),
        (["store", "console", "my-store"], RESERVED),
        (["store", "store", "console"], TWICE),
        (["store", "class", "store"], REFUSED),
        (["console", "console"], RESERVED),
        (["class", "class"], REFUSED),
        (["my-store", "my-store"], NO_IDENTIFIER),
    ],
)
def test_providers_are_checked_in_order_and_the_first_failure_wins(names: list[str], text: str) -> None:
    assert refusal(*names) == text


def test_a_providers_tools_are_checked_before_the_next_provider() -> None:
    colliding = ProviderSpec(name="store", tools=["a-b", "a.b"])
    with pytest.raises(DeclarationError, match=r"^Tools "):
        check_providers([colliding, ProviderSpec(name="console")])
    with pytest.raises(DeclarationError, match=r"^Provider "):
        check_providers([ProviderSpec(name="console"), colliding])


@pytest.mark.parametrize(
    ("tool", "identifier"),
    [
        ("find_user", "find_user"),
        ("list-issues", "list_issues"),
        ("github.list-issues", "github_list_issues"),
        ("two words", "two_words"),
        ("a\tb\nc", "a_b_c"),
        ("7zip", "_7zip"),
        ("7-zip", "_7_zip"),
        ("delete", "delete_"),
        ("de!lete", "delete_"),
        ("async", "async_"),
        ("café", "caf"),
        ("a/b:c", "abc"),
        ("$x", "$x"),
        ("\ud800a\0", "a"),
        ("-", "_"),
        ("日本", ""),
        ("", ""),
    ],
)
def test_a_tools_identifier_form_is_pinned(tool: str, identifier: str) -> None:
    assert identifier_form(tool) == identifier


@given(st.text(st.characters(exclude_categories=())))
def test_an_identifier_form_is_empty_or_an_identifier_that_stays(tool: str) -> None:
    form = identifier_form(tool)
    assert form == "" or re.fullmatch("[A-Za-z_$][A-Za-z0-9_$]*", form)
    assert form not in REFUSED_WORDS
    assert identifier_form(form) == form


def test_aliases_are_only_for_names_that_are_no_identifier() -> None:
    provider = ProviderSpec(name="store", tools=["find", "list-issues", "7zip", "日本", "delete"])
    assert tool_aliases(provider) == {"list_issues": "list-issues", "_7zip": "7zip", "delete_": "delete"}


@pytest.mark.parametrize("tools", [["list-users", "list.users"], ["list_users", "list-users"]])
def test_two_tools_with_one_identifier_are_refused_with_both_names(tools: list[str]) -> None:
    with pytest.raises(DeclarationError) as caught:
        tool_aliases(ProviderSpec(name="store", tools=tools))
    assert str(caught.value) == (
        f'Tools "{tools[0]}" and "{tools[1]}" of provider "store" share the identifier list_users. Rename one of them.'
    )


def test_one_tool_named_twice_is_no_collision() -> None:
    assert tool_aliases(ProviderSpec(name="store", tools=["a-b", "a-b"])) == {"a_b": "a-b"}


def test_tools_without_an_identifier_form_do_not_collide() -> None:
    assert refusal() is None
    check_providers([ProviderSpec(name="store", tools=["日本", "中国", ""])])


def test_no_providers_are_fine() -> None:
    check_providers([])


@pytest.mark.parametrize(
    ("specs", "text"),
    [
        ([ProviderSpec(name=f"p{n}") for n in range(257)], "The run declares 257 providers; at most 256 are allowed."),
        ([ProviderSpec(name="a", tools=["f"] * 10_001)], "The run declares 10001 tools; at most 10000 are allowed."),
        (
            [ProviderSpec(name=f"p{n}", tools=["f"] * 5001) for n in range(2)],
            "The run declares 10002 tools; at most 10000 are allowed.",
        ),
    ],
)
def test_more_than_a_run_may_declare_is_refused_before_any_name_is_looked_at(
    specs: list[ProviderSpec], text: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        check_providers(specs)
    assert str(caught.value) == text


def test_as_much_as_a_run_may_declare_is_fine() -> None:
    check_providers([ProviderSpec(name=f"p{n}", tools=[f"f{m}" for m in range(39)]) for n in range(256)])
