# ruff: noqa: E501 - a probe stands on one line.
"""Headers, Request, Response and what fetch gives, compared with Node."""

from __future__ import annotations

import gzip
import json

from tooltoolexec import Limits
from tooltoolexec.outbound import HttpOutbound
from tooltoolexec.sync import local
from webserver import Asked, Reply, Route, WebServer

from . import both

PRELUDE = """
const pairs = (headers) => [...headers];
const request = (input, init) => {
  const r = new Request(input, init);
  return [r.method, r.url, pairs(r.headers), r.bodyUsed, r.redirect];
};
const response = (body, init) => {
  const r = new Response(body, init);
  return [r.status, r.ok, r.statusText, pairs(r.headers), r.type, r.url, r.redirected, r.bodyUsed];
};
const U = 'https://a.test/x';
"""


def test_headers() -> None:
    both.probe(
        both.of_all(
            "pairs(new Headers())",
            "pairs(new Headers({ b: 1, A: ' x\\t' }))",
            "pairs(new Headers([['b', '1'], ['a', '2'], ['B', '3']]))",
            "pairs(new Headers(new Map([['a', 'b']])))",
            "pairs(new Headers(new Headers({ a: '1' })))",
            "pairs(new Headers({ a: undefined, b: null, c: 1.5 }))",
            "pairs(new Headers(undefined))",
            "new Headers(null)",
            "new Headers(5)",
            "new Headers('a')",
            "new Headers([['a']])",
            "new Headers([['a', 'b', 'c']])",
            "new Headers([1])",
            "new Headers(['ab'])",
            "new Headers({ 'a b': '1' })",
            "new Headers({ '': '1' })",
            "new Headers({ 'é': '1' })",
            "new Headers({ a: 'x\\ny' })",
            "new Headers({ a: 'x\\0y' })",
            "new Headers({ a: '\\u0100' })",
            "new Headers({ [Symbol('a')]: 1 })",
            "Headers()",
            "new Headers({ a: '\\u00ff\\t\\x01' }).get('a')",
            "new Headers({ a: '\\r\\n x \\n' }).get('A')",
            "new Headers().get('a')",
            "new Headers().get('a b')",
            "new Headers({ a: '1' }).has('A')",
            "new Headers().has('')",
            "{ const h = new Headers({ a: '1' }); h.append('A', '2'); h.append('b', '3'); return pairs(h) }",
            "{ const h = new Headers([['a', '1'], ['b', '2'], ['a', '3']]); h.set('A', '4'); h.set('c', '5'); return pairs(h) }",
            "{ const h = new Headers([['a', '1'], ['b', '2'], ['a', '3']]); h.delete('A'); h.delete('z'); return pairs(h) }",
            "{ const h = new Headers({ 'Set-Cookie': 'a=1' }); h.append('set-cookie', 'b=2'); return [pairs(h), h.getSetCookie(), h.get('set-cookie')] }",
            "new Headers().getSetCookie()",
            "{ const o = []; new Headers({ b: '1', a: '2' }).forEach(function (v, k, h) { o.push([v, k, h instanceof Headers, this.x]) }, { x: 7 }); return o }",
            "new Headers().forEach()",
            "{ const h = new Headers({ a: '1', b: '2' }); const o = []; for (const [k] of h) { o.push(k); if (k === 'a') h.append('c', '3') } return o }",
            "[[...new Headers({ b: '1', a: '2' }).keys()], [...new Headers({ b: '1', a: '2' }).values()]]",
            "Object.prototype.toString.call(new Headers().entries())",
            "Object.prototype.toString.call(new Headers())",
            "Headers.prototype[Symbol.iterator] === Headers.prototype.entries",
            "new Headers().entries()[Symbol.iterator]().next()",
            "Headers.prototype.get.call({}, 'a')",
            "Headers.prototype.entries.call({})",
            "Object.keys(Headers.prototype).sort()",
            "[Headers.length, Headers.name, typeof Headers.prototype.append]",
            "new Headers().append('a')",
            "new Headers().set('a', 'b', 'c')",
            "{ class Mine extends Headers { get(n) { return 'mine ' + super.get(n) } } return new Mine({ a: 'b' }).get('a') }",
        ),
        prelude=PRELUDE,
    )  # fmt: skip


def test_requests() -> None:
    both.probe(
        both.of_all(
            "request(U)",
            "request('HTTPS://A.test:443/x/../y?q#h')",
            "request(new URL(U))",
            "request(U, { method: 'post' })",
            "request(U, { method: 'patch' })",
            "request(U, { method: 'PuT', body: 'x' })",
            "request(U, { method: 'query' })",
            "request(U, null)",
            "request(U, undefined)",
            "request(U, 5)",
            "request(U, { method: 'CONNECT' })",
            "request(U, { method: 'trace' })",
            "request(U, { method: 'a b' })",
            "request(U, { method: '' })",
            "request(U, { body: 'x' })",
            "request(U, { method: 'HEAD', body: '' })",
            "request(U, { body: null })",
            "request('/x')",
            "request('')",
            "new Request()",
            "Request(U)",
            "request('https://u@a.test/')",
            "request('https://u:p@a.test/')",
            "request('ftp://a.test/')",
            "request(U, { headers: { B: '1', a: '2' } })",
            "request(U, { headers: [['a', '1'], ['A', '2']] })",
            "request(U, { headers: null })",
            "request(U, { method: 'POST', body: 'x' })",
            "request(U, { method: 'POST', body: 5 })",
            "request(U, { method: 'POST', body: new URLSearchParams({ a: 'b c' }) })",
            "request(U, { method: 'POST', body: new Uint8Array(3) })",
            "request(U, { method: 'POST', body: 'x', headers: { 'content-type': 'text/html' } })",
            "request(U, { signal: {} })",
            "request(U, { signal: null })",
            "request(new Request(U, { method: 'PUT', headers: { a: 'b' }, body: 'x' }))",
            "request(new Request(U, { method: 'PUT', headers: { a: 'b' } }), { headers: { c: 'd' } })",
            "request(new Request(U, { method: 'PUT', body: 'x' }), { method: 'GET' })",
            "new Request(new Request(U, { method: 'PUT', body: 'x' }), { body: 'y' }).text()",
            "{ const r = new Request(U, { method: 'PUT', body: 'x' }); const s = new Request(r); return [r.bodyUsed, await s.text()] }",
            "{ const r = new Request(U, { method: 'PUT', body: 'x' }); new Request(r); return new Request(r) }",
            "{ const r = new Request(U, { method: 'PUT', body: 'x' }); await r.text(); return r.clone() }",
            "{ const r = new Request(U, { method: 'PUT', headers: { a: 'b' }, body: 'x' }); const c = r.clone(); return [await r.text(), await c.text(), c.method, pairs(c.headers), c.url] }",
            "{ const r = new Request(U, { headers: { a: 'b' } }); r.headers.set('c', 'd'); return [pairs(r.headers), pairs(r.clone().headers), r.headers === r.headers] }",
            "{ const c = new AbortController(); const r = new Request(U, { signal: c.signal }); c.abort(); return [r.signal.aborted, r.signal.reason.name] }",
            "{ const r = new Request(U); return [r.signal instanceof AbortSignal, r.signal.aborted, r.signal === r.signal] }",
            "Object.prototype.toString.call(new Request(U))",
            "Request.prototype.clone.call({})",
            "Object.getOwnPropertyDescriptor(Request.prototype, 'url').get.call({})",
            "{ const r = new Request(U); r.method = 'POST'; return 1 }",
            "[Request.length, Request.name]",
            "{ const r = new Request(U, new Request('https://b.test/', { method: 'POST', headers: { a: 'b' } })); return [r.method, r.url, pairs(r.headers)] }",
        ),
        prelude=PRELUDE,
    )  # fmt: skip


def test_responses() -> None:
    both.probe(
        both.of_all(
            "response()",
            "response(null)",
            "response('x')",
            "response('')",
            "response(5)",
            "response(new Uint8Array([1]))",
            "response(new ArrayBuffer(2))",
            "response(new URLSearchParams('a=b'))",
            "response('x', { status: 404, statusText: 'Gone', headers: { a: 'b' } })",
            "response('x', { headers: { 'Content-Type': 'a/b' } })",
            "response('x', { status: '201' })",
            "response('x', { status: 299 })",
            "response('x', { status: 199 })",
            "response('x', { status: 600 })",
            "response('x', { status: 0 })",
            "response('x', { status: NaN })",
            "response('x', { statusText: 'a\\nb' })",
            "response('x', { statusText: '\\u0100' })",
            "response('x', { statusText: 'é\\t' })",
            "response('x', { status: 204 })",
            "response(null, { status: 204 })",
            "response('', { status: 304 })",
            "response('x', 5)",
            "response('x', null)",
            "Response()",
            "Response.error().status",
            "[Response.error().type, Response.error().ok, pairs(Response.error().headers)]",
            "Response.error().headers.set('a', 'b')",
            "{ const r = Response.json({ a: [1, 'é'] }); return [r.status, pairs(r.headers), await r.text()] }",
            "{ const r = Response.json(null, { status: 201, headers: { a: 'b' } }); return [r.status, pairs(r.headers), await r.json()] }",
            "pairs(Response.json(1, { headers: { 'content-type': 'a/b' } }).headers)",
            "Response.json(undefined)",
            "Response.json(() => 1)",
            "Response.json(5n)",
            "Response.json(1, { status: 204 })",
            "{ const r = Response.redirect('https://a.test/é'); return [r.status, pairs(r.headers), r.redirected] }",
            "Response.redirect(U, 308).status",
            "Response.redirect(U, 200)",
            "Response.redirect('https://a b/')",
            "new Response('é').text()",
            "new Response('\\ufeffx').text()",
            "new Response(new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xff])).text()",
            "new Response('\\ud800').text()",
            "new Response('{\"a\":[1]}').json()",
            "new Response('\\ufeff[1]').json()",
            "new Response('{').json()",
            "new Response('').json()",
            "new Response().json()",
            "new Response().text()",
            "new Response('ab').arrayBuffer()",
            "new Response(new Uint16Array([1, 2]).subarray(1)).arrayBuffer()",
            "new Response(new DataView(new ArrayBuffer(4), 1, 2)).arrayBuffer()",
            "{ const b = new Uint8Array([1, 2]); const r = new Response(b); b[0] = 9; return r.arrayBuffer() }",
            "{ const r = new Response('x'); await r.text(); return [r.bodyUsed, await r.text().catch((e) => e.name)] }",
            "{ const r = new Response('x'); const p = r.text(); const used = r.bodyUsed; return [used, await p] }",
            "{ const r = new Response(); await r.text(); return [r.bodyUsed, await r.text()] }",
            "{ const r = new Response('x'); await r.text(); return r.clone() }",
            "{ const r = new Response('x', { status: 201, statusText: 'a', headers: { a: 'b' } }); const c = r.clone(); c.headers.set('a', 'c'); return [await r.text(), await c.text(), c.status, c.statusText, pairs(c.headers), pairs(r.headers)] }",
            "{ const r = new Response('x'); r.headers.set('a', 'b'); return [pairs(r.headers), r.headers === r.headers] }",
            "new Response(null).body",
            "Response.prototype.text.call({})",
            "{ const p = Response.prototype.json.call({}); return [p instanceof Promise, await p.catch((e) => e.name)] }",
            "Response.prototype.clone.call({})",
            "Object.prototype.toString.call(new Response())",
            "[Response.length, Response.name, Object.keys(Response).sort()]",
            "Object.keys(Response.prototype).includes('text')",
            "{ class Mine extends Response { get ok() { return 'mine' } } return [new Mine('x').ok, await new Mine('x').text()] }",
        ),
        prelude=PRELUDE,
    )  # fmt: skip


def test_what_is_not_there_says_what_to_use() -> None:
    found = both.in_sandbox(
        {
            "stream": "new Response('x').body",
            "blob": "new Response('x').blob()",
            "form": "new Response('a=b').formData()",
            "object": "new Response({ a: 1 })",
            "manual": "new Request('https://a.test/', { redirect: 'manual' })",
            "bytes": "new Response('é').bytes()",
        },
        messages=True,
    )
    assert found["stream"] is None
    assert found["bytes"] == {"Uint8Array": [195, 169]}
    for name, hint in (
        ("blob", "arrayBuffer()"),
        ("form", "text()"),
        ("object", "JSON.stringify"),
        ("manual", "follow"),
    ):
        kind, message = found[name]["thrown"]
        assert (kind, hint in message) == ("TypeError", True), message


def test_programs_that_change_everything_change_no_request() -> None:
    routes = {"/": lambda asked: Reply(asked.body, headers=[("x-seen", asked.header("x-mine")[0])])}
    program = """async () => {
      let seen = '';
      const spy = (name) => function (...args) { seen += name + ' '; throw new Error('spy ' + name) };
      const url = URL_HERE;
      const { fetch, Uint8Array, JSON } = globalThis;
      const { stringify } = JSON;
      const iterator = Array.prototype[Symbol.iterator];
      for (const [place, names] of [
        [Array.prototype, ['push', 'map', 'forEach', 'join', 'slice', 'concat', 'indexOf']],
        [String.prototype, ['toLowerCase', 'toUpperCase', 'slice', 'indexOf', 'charCodeAt', 'trim', 'split', 'replace']],
        [Map.prototype, ['get', 'set', 'delete', 'has', 'forEach']],
        [Promise.prototype, ['then', 'catch', 'finally']],
        [Headers.prototype, ['get', 'set', 'append', 'has', 'forEach', 'entries']],
        [Request.prototype, ['clone', 'text']],
        [URL.prototype, ['toString', 'toJSON']],
        [Function.prototype, ['call', 'apply', 'bind']],
        [TextEncoder.prototype, ['encode']], [TextDecoder.prototype, ['decode']],
        [URLSearchParams.prototype, ['toString']],
        [Object.getPrototypeOf(Uint8Array.prototype), ['slice', 'subarray', 'set']],
        [JSON, ['stringify', 'parse']], [Reflect, ['apply', 'ownKeys', 'defineProperty']],
      ]) {
        for (const name of names) {
          place[name] = spy(name);
        }
      }
      Uint8Array.prototype.toBase64 = spy('toBase64');
      Uint8Array.fromBase64 = spy('fromBase64');
      Object.defineProperty(URL.prototype, 'href', { get: spy('href') });
      Object.defineProperty(Object.prototype, '0', { set: spy('0'), get: spy('get 0'), configurable: true });
      Object.defineProperty(Object.prototype, 'status', { set: spy('status'), configurable: true });
      Object.defineProperty(Object.prototype, 'bytes', { set: spy('bytes'), get: spy('bytes'), configurable: true });
      for (const name of ['Headers', 'Request', 'Response', 'URL', 'TextEncoder', 'TextDecoder', 'AbortSignal', 'Promise', 'Map']) globalThis[name] = spy(name);
      Array.prototype[Symbol.iterator] = spy('iterator');
      const response = await fetch(url, { __proto__: null, method: 'post', headers: { __proto__: null, 'X-Mine': 'a' }, body: 'é' });
      const text = await response.text();
      delete Object.prototype[0];
      delete Object.prototype.status;
      delete Object.prototype.bytes;
      Array.prototype[Symbol.iterator] = iterator;
      return [seen, text, response.status];
    }"""
    with WebServer(routes) as server, local() as executor:
        handler = HttpOutbound(allow=[server.authority], allow_private=[server.authority])
        run = executor.execute(program.replace("URL_HERE", json.dumps(server.url + "/")), outbound=handler)
        assert (run.error, run.result) == (None, ["", "é", 200])
        assert server.asked[0].header("x-mine") == ["a"]


def test_what_fetch_gives_is_what_it_gives_in_node() -> None:
    def echo(asked: Asked) -> Reply:
        return Reply(
            asked.body, headers=[("x-method", asked.method), ("x-type", ",".join(asked.header("content-type")))]
        )

    routes: dict[str, Route] = {
        "/": Reply(b'{"a":1}', headers=[("Content-Type", "application/json"), ("X-Two", "a"), ("X-Two", "b")]),
        "/gone": Reply("gön".encode(), status=410),
        "/empty": Reply(status=204),
        "/echo": echo,
        "/gzip": Reply(gzip.compress(b"hello"), headers=[("Content-Encoding", "gzip")]),
        "/on": Reply(status=302, headers=[("Location", "/echo")]),
        "/same": Reply(status=307, headers=[("Location", "/echo")]),
        "/odd": Reply(b"x", status=299),
    }  # fmt: skip
    with WebServer(routes) as server, local() as executor:
        prelude = """
        const at = (path) => SERVER + path;
        const all = async (r) => [r.status, r.ok, r.statusText, r.type, r.url, r.redirected, r.headers.get('x-two'), r.headers.get('x-method'), r.headers.get('x-type'), await r.text()];
        """.replace("SERVER", json.dumps(server.url))
        probes = both.of_all(
            "all(await fetch(at('/')))",
            "(await fetch(at('/'))).json()",
            "all(await fetch(at('/gone')))",
            "all(await fetch(at('/empty')))",
            "all(await fetch(at('/gzip')))",
            "all(await fetch(at('/odd')))",
            "all(await fetch(at('/echo#part')))",
            "all(await fetch(at('/echo'), { method: 'post', body: 'é' }))",
            "all(await fetch(at('/echo'), { method: 'PUT', body: new URLSearchParams({ a: 'ü' }) }))",
            "all(await fetch(at('/echo'), { method: 'DELETE' }))",
            "all(await fetch(at('/echo'), { method: 'HEAD' }))",
            "all(await fetch(new Request(at('/echo'), { method: 'POST', body: 'x' }), { headers: { 'content-type': 'a/b' } }))",
            "all(await fetch(at('/on')))",
            "all(await fetch(at('/on'), { method: 'POST', body: 'x' }))",
            "all(await fetch(at('/same'), { method: 'POST', body: 'x' }))",
            "{ const r = await fetch(at('/')); r.headers.set('a', 'b'); return 1 }",
            "{ const r = new Request(at('/echo'), { method: 'POST', body: 'x' }); await fetch(r); return [r.bodyUsed, await fetch(r).catch((e) => e.name)] }",
            "fetch(at('/'), { signal: AbortSignal.abort() })",
            "fetch(at('/'), { signal: AbortSignal.abort('why') }).catch((e) => e)",
            "fetch()",
            "[typeof fetch, fetch.name, fetch('').catch(() => 1) instanceof Promise]",
            "fetch('/x')",
            "fetch('file:///x')",
        )  # fmt: skip
        handler = HttpOutbound(allow=[server.authority], allow_private=[server.authority])
        body = both._body(probes, prelude, messages=False)
        run = executor.execute(
            "async () => {" + body + "return JSON.stringify(results);}", outbound=handler, limits=Limits(wall_s=30)
        )
        assert run.error is None
        # Node sends a request for what has no known phrase, and gives the server's own; ours is the standard's.
        both._compare(json.loads(run.result), both.in_node(probes, prelude=prelude))
