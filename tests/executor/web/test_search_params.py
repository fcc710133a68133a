"""URLSearchParams: its constructors, methods and iterators as in Node, and its tie to a URL both ways."""

from __future__ import annotations

import json

from . import both

TEXTS = [
    "", "?", "a", "a=", "=a", "=", "a=b", "?a=b", "??a=b", "a=b&a=c", "&a&&b&", "a==b", "a=b=c", "a+b=c+d",
    "a%20b=c%2Bd", "%61=%zz%6", "%e2%82%ac=%ff", "é=☃", "a=\ud800", "a\x00b", "a;b", "a#b=c", "%C3%A9=%EF%BB%BFx",
    "%FE%FF", "\ufeffa=b", "a=%F0%9F%92%A9", "a%", "%%32", "__proto__=1&constructor=2",
]  # fmt: skip

CONSTRUCTED = [
    "new URLSearchParams()", "new URLSearchParams(undefined)", "new URLSearchParams(null)", "new URLSearchParams(5)",
    "new URLSearchParams({})", "new URLSearchParams({ a: 1, b: [2, 3], c: undefined })",
    "new URLSearchParams({ [Symbol('x')]: 1 })",
    "new URLSearchParams(Object.defineProperty({ a: 1 }, 'b', { value: 2, enumerable: false }))",
    "new URLSearchParams({ '\\ud835x': '1', xx: '2', '\\ud83dx': '3' })",
    "new URLSearchParams([])", "new URLSearchParams([['a', 'b'], ['a', 'c']])", "new URLSearchParams([['a']])",
    "new URLSearchParams([['a', 'b', 'c']])", "new URLSearchParams([1])", "new URLSearchParams([null])",
    "new URLSearchParams([[{ toString: () => 'x' }, 1n]])", "new URLSearchParams([[Symbol(), 1]])",
    "new URLSearchParams(new Map([['a', 1], ['b', 2]]))", "new URLSearchParams(new Set(['ab']))",
    "new URLSearchParams(new URLSearchParams('a=1&a=2'))", "new URLSearchParams((function* () { yield ['x', 'y'] })())",
    "new URLSearchParams({ [Symbol.iterator]: 5 })", "new URLSearchParams(Symbol())",
    "new URLSearchParams(new String('?a=b'))", "URLSearchParams('a=b')",
]  # fmt: skip

# Statements on `p`, then what is looked at.
METHODS = [
    "p.append('a', 3)", "p.append('é', '&=+ %')", "p.append('x')", "p.append()", "p.append(Symbol(), 1)",
    "p.delete('a')", "p.delete('zz')", "p.delete('a', '2')", "p.delete('a', 'x')", "p.delete('a', undefined)",
    "p.delete()", "p.set('a', 9)", "p.set('new', 9)", "p.set('b', '')", "p.set('a')", "p.sort()",
    "p.append('', '')", "p.append('~!*()\\'-._', '~!*()\\'-._')", "p.append('\\ud800', '\\udc00x')",
]  # fmt: skip

QUERIES = [
    "p.get('a')", "p.get('zz')", "p.get()", "p.get(undefined)", "p.getAll('a')", "p.getAll('zz')", "p.getAll()",
    "p.has('a')", "p.has('zz')", "p.has('a', '2')", "p.has('a', 'x')", "p.has('a', undefined)", "p.has()", "p.size",
    "[...p]", "[...p.keys()]", "[...p.values()]", "[...p.entries()]", "Array.from(p.keys(), (k) => k + k)",
    "Object.fromEntries(p)", "new Map(p)", "`${p}`", "p + ''", "JSON.stringify(p)", "p.forEach()", "p.forEach(5)",
    "const seen = []; p.forEach((...all) => seen.push([...all.slice(0, 2), all[2] === p])); return seen",
    "const seen = []; p.forEach(function (v) { seen.push(this.x, v) }, { x: 1 }); return seen",
    "const seen = []; for (const [name] of p) { seen.push(name); p.delete(name) } return [seen, `${p}`]",
    "const it = p.keys(); it.next(); p.append('late', 1); return [...it]",
    "const it = p.values(); return [it.next(), it[Symbol.iterator]() === it]",
    "const it = p.values(); [...it]; return it.next()",
    "p.keys().next.call({})", "p.keys().next.call([].values())",
    "Object.prototype.toString.call(p.keys())", "Object.prototype.toString.call(p)",
    "const up = Object.getPrototypeOf; return up(up(p.keys())) === up(up([].keys()))",
    "'constructor' in Object.getOwnPropertyDescriptors(Object.getPrototypeOf(p.keys()))",
    "URLSearchParams.prototype[Symbol.iterator] === URLSearchParams.prototype.entries",
    "Object.keys(URLSearchParams.prototype).sort()", "Object.keys(p)", "[URLSearchParams.name, URLSearchParams.length]",
    ("const { size, ...methods } = Object.getOwnPropertyDescriptors(URLSearchParams.prototype); "
    "return Object.entries(methods).map(([name, { value }]) => [name, value.length]).sort()"),
    "URLSearchParams.prototype.size", "URLSearchParams.prototype.get.call({}, 'a')", "new p.get('a')",
    "URLSearchParams.prototype.toString.call(new Map())",
]  # fmt: skip

SORTED = [
    ["z=b&a=b&z=a&a=a", "a=b&a=a&z=b&z=a"],
    ["\ufb03&\U0001f308", "%F0%9F%8C%88=&%EF%AC%83="],
    ["é&e\ufffd&é", "e%EF%BF%BD=&%C3%A9=&%C3%A9="],
    ["bbb&bb&aaa&aa=x&aa=y", "aa=x&aa=y&aaa=&bb=&bbb="],
    ["", ""],
]

# Statements on `url`, http://h/p?a=1&b=2#f, and its parameters `p`.
TIED = [
    "p.append('c', ' ')", "p.delete('a')", "p.delete('a'); p.delete('b')", "p.set('a', 'é')", "p.sort()",
    "url.search = '?x=y'", "url.search = ''", "url.search = '?'", "url.href = 'http://g/?q'", "url.hash = 'x'",
    "url.search = 'a=b~'", "url.search = 'a=b~'; p.append('c', 'd')", "url.search = \"'\"; p.append('c', \"'\")",
    "url.search = 'x=y'; p.append('z', 1); url.search = ''", "url.pathname = '/q'; p.set('a', 5)",
]  # fmt: skip

PRELUDE = """
const tied = (change) => {
  const url = new URL('http://h/p?a=1&b=2#f');
  const p = url.searchParams;
  change(url, p);
  return [url.href, url.search, [...p], url.searchParams === p];
};
"""


def test_texts_are_parsed_and_written_as_in_node() -> None:
    made = [f"new URLSearchParams({json.dumps(text)})" for text in TEXTS]
    both.probe(both.of_all(*(f"[[...{one}], {one}.toString(), {one}.size]" for one in made)))


def test_every_constructor_is_as_in_node() -> None:
    both.probe(
        both.of_all(*(f"[...{one}]" for one in CONSTRUCTED)),
        differing={
            "[...new URLSearchParams(null)]": ([["null", ""]], "by Web IDL, null for a union with text is text")
        },
    )


def test_every_method_is_as_in_node() -> None:
    start = "const p = new URLSearchParams('a=1&b=x&a=2&c='); "
    both.probe(
        {text: f"{start} {text}; return [...p, `${{p}}`]" for text in METHODS}
        | {text: start + (text if "return " in text else f"return {text}") for text in QUERIES}
    )


def test_sorting_is_stable_and_by_units() -> None:
    both.holds(
        {
            f"const p = new URLSearchParams({json.dumps(text)}); p.sort(); return p.toString()": expected
            for text, expected in SORTED
        }
    )


def test_a_change_of_the_url_or_of_its_parameters_is_seen_in_the_other() -> None:
    both.probe({change: f"tied((url, p) => {{ {change} }})" for change in TIED}, prelude=PRELUDE)


def test_the_last_parameter_takes_the_question_mark_along() -> None:
    both.holds({"tied((url, p) => { p.delete('a'); p.delete('b') })": ["http://h/p#f", "", [], True]}, prelude=PRELUDE)


def test_copies_are_not_tied() -> None:
    both.holds(
        {
            "const url = new URL('a:?x'); const p = new URLSearchParams(url.searchParams); p.append('y', 1); "
            "return [url.href, p.toString()]": ["a:?x", "x=&y=1"],
        }
    )
