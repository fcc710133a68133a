"""The stock handler of programs' requests, against a real server on this machine."""

from __future__ import annotations

import gc
import gzip
import socket
import ssl
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
import trustme

from serving import until
from tooltoolexec.outbound import HttpOutbound, OutboundError, OutboundRequest, OutboundResponse
from tooltoolexec.outbound.addresses import is_public
from tooltoolexec.outbound.decoder import Decoder
from tooltoolexec.outbound.hosts import HostList, Target
from tooltoolexec.outbound.http import _Credentials, _turns
from tooltoolexec.version import __version__
from webserver import Asked, Reply, WebServer

pytestmark = pytest.mark.anyio
SECRET = "Bearer abcdefgh12345678"


class Names:
    """A resolver; `asked` has the names in order."""

    def __init__(self, addresses: Mapping[str, Sequence[str]]) -> None:
        self.asked: list[str] = []
        self._addresses = addresses

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._addresses:
            raise OSError("no such name")
        return self._addresses[host]


def redirect(location: str, status: int = 302) -> Reply:
    return Reply(status=status, headers=[("Location", location)])


ROUTES: dict[str, Any] = {
    "/hello": Reply(b"hello", headers=[("Content-Type", "text/plain"), ("X-Two", "a"), ("X-Two", "b")]),
    "/{a}": Reply(),
    "/gone": Reply(b"no", status=404),
    "/empty": Reply(status=204),
    "/long": Reply(b"x" * 2000),
    "/large": Reply(b"x" * 300_000),
    "/large-head": Reply(headers=[("X-A", "y" * 50_000), ("X-B", "y" * 20_000)]),
    "/bomb": Reply(gzip.compress(bytes(20_000_000)), headers=[("Content-Encoding", "gzip")]),
    "/gzip": Reply(gzip.compress(b"hel") + gzip.compress(b"lo"), headers=[("Content-Encoding", "gzip")]),
    "/torn": Reply(gzip.compress(b"hello")[:-4], headers=[("Content-Encoding", "gzip")]),
    "/brotli": Reply(b"hello", headers=[("Content-Encoding", "br")]),
    "/cookie": Reply(b"", headers=[("Set-Cookie", "a=1"), ("Connection", "close"), ("Keep-Alive", "5")]),
    "/repeat": lambda asked: Reply(b"".join(value.encode() for value in asked.header("authorization"))),
    "/repeat-header": lambda asked: Reply(headers=[("X-Was", asked.header("authorization")[0])]),
    "/short": Reply(b"hello", headers=[("Content-Length", "100")]),
    "/odd": Reply(status=999),
    "/on": redirect("/hello"),
    "/on-and-on": redirect("/on-and-on"),
    "/see-other": redirect("/hello", 303),
    "/moved": redirect("/hello", 301),
    "/same-method": redirect("/hello", 307),
    "/file": redirect("file:///etc/passwd"),
    "/user": redirect("http://user:word@localhost/"),
    "/half": redirect("http://[::1"),
    "/halves": redirect("//[::1]]:80:/"),
    "/located": Reply(headers=[("Location", "http://[/")]),
    "/astray": redirect("http://[:::::]/"),
    "/odd-place": redirect("hello?q=a b\\c"),
}


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer(ROUTES) as server:
        yield server


def outbound(server: WebServer, **options: Any) -> HttpOutbound:
    options.setdefault("allow", [server.authority])
    options.setdefault("allow_private", options["allow"])
    return HttpOutbound(**options)


def get(url: str, **fields: Any) -> OutboundRequest:
    return OutboundRequest(fields.pop("method", "GET"), url, **fields)


async def refusal(handler: HttpOutbound, request: OutboundRequest) -> str:
    with pytest.raises(OutboundError) as caught:
        await handler(request)
    return str(caught.value)


async def test_a_response_comes_as_it_was_sent(server: WebServer) -> None:
    response = await outbound(server)(get(f"{server.url}/hello?q=1"))
    assert (response.status, response.body, response.url) == (200, b"hello", None)
    assert [pair for pair in response.headers if pair[0] == "x-two"] == [("x-two", "a"), ("x-two", "b")]
    assert server.asked[0].path == "/hello?q=1"
    assert (await outbound(server)(get(f"{server.url}/gone"))).status == 404
    assert (await outbound(server)(get(f"{server.url}/empty"))).body == b""


async def test_a_request_goes_out_as_the_program_made_it(server: WebServer) -> None:
    await outbound(server)(
        get(f"{server.url}/hello", method="PATCH", headers=[("x-a", "1"), ("x-a", "é")], body=b"\0\xff")
    )
    asked = server.asked[0]
    assert (asked.method, asked.body, asked.header("x-a")) == ("PATCH", b"\0\xff", ["1", "é"])


async def test_nothing_is_sent_that_the_handler_does_not_send(server: WebServer) -> None:
    await outbound(server)(get(f"{server.url}/{{a}}?a|b=%zz&'{{}}^`", method="patch", body=b"abc"))
    asked = server.asked[0]
    assert (asked.method, asked.path) == ("patch", "/{a}?a|b=%zz&'{}^`")
    assert asked.headers == [
        ("host", server.authority), ("connection", "close"), ("accept", "*/*"),
        ("user-agent", f"tooltoolexec/{__version__}"), ("accept-encoding", "gzip"), ("content-length", "3"),
    ]  # fmt: skip


async def test_what_the_connection_is_about_is_not_the_programs(server: WebServer) -> None:
    forged = [
        ("Host", "other.test"), ("Content-Length", "9"), ("Transfer-Encoding", "chunked"), ("Connection", "x-a"),
        ("Expect", "100-continue"), ("Proxy-Authorization", "x"), ("Upgrade", "h2c"), ("Accept-Encoding", "br"),
    ]  # fmt: skip
    await outbound(server)(get(f"{server.url}/hello", method="POST", headers=forged, body=b"abc"))
    asked = server.asked[0]
    assert asked.body == b"abc"
    found = {name: asked.header(name.lower()) for name, _ in forged}
    assert found == {
        "Host": [server.authority], "Content-Length": ["3"], "Transfer-Encoding": [], "Connection": ["close"],
        "Expect": [], "Proxy-Authorization": [], "Upgrade": [], "Accept-Encoding": ["gzip"],
    }  # fmt: skip


async def test_a_host_that_is_not_listed_is_named_with_those_that_are(server: WebServer) -> None:
    handler = HttpOutbound(allow=["api.example.com", "*.example.net:81"])
    expected = "The host example.org is not allowed. Allowed: api.example.com, *.example.net:81."
    assert await refusal(handler, get("https://example.org/x")) == expected
    assert (await refusal(HttpOutbound(allow=[]), get("https://a.test/"))).endswith("Allowed: none.")
    assert server.asked == []


@pytest.mark.parametrize(
    ("entry", "url", "is_listed"),
    [
        ("a.test", "http://a.test/", True),
        ("A.test", "https://a.TEST/", True),
        ("a.test", "https://a.test:443/", True),
        ("a.test", "http://a.test:443/", False),
        ("a.test", "http://a.test:8080/", False),
        ("a.test:8080", "http://a.test:8080/", True),
        ("a.test:8080", "http://a.test/", False),
        ("a.test", "http://b.a.test/", False),
        ("a.test", "http://a.test.evil/", False),
        ("a.test", "http://evil-a.test/", False),
        ("*.a.test", "http://b.a.test/", True),
        ("*.a.test", "http://c.b.a.test/", True),
        ("*.a.test", "http://a.test/", False),
        ("*.a.test", "http://xa.test/", False),
        ("*.a.test:81", "http://b.a.test:81/", True),
        ("[::1]", "http://[::1]/", True),
        ("127.0.0.1", "http://127.0.0.1/", True),
    ],
)
def test_a_list_of_hosts_means_what_it_says(entry: str, url: str, is_listed: bool) -> None:
    assert (Target.of(url) in HostList([entry], "allow")) is is_listed


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.test/", "file:///etc/passwd", "//a.test/", "http://", "http://u@a.test/", "http://u:p@a.test/",
        "http://a.test:99999/", "http://a.test\\@b.test/", "http://a.test /", "http://a..:x/", "http://ä.test/",
        "http://a.test%2e/", "javascript:1",
    ],
)  # fmt: skip
def test_what_is_no_plain_url_leads_nowhere(url: str) -> None:
    with pytest.raises(OutboundError):
        Target.of(url)


@pytest.mark.parametrize("entry", ["https://a.test", "a.test/x", "*", "*.*", "a b", "", "a.test:0", "a.test:99999"])
def test_an_entry_that_is_no_host_is_refused_at_once(entry: str) -> None:
    with pytest.raises(ValueError, match="is no host"):
        HttpOutbound(allow=[entry])


@pytest.mark.parametrize(
    "arguments",
    [
        {"allow": "a.test"}, {"allow": [1]}, {"timeout_s": 0}, {"max_body_bytes": -1}, {"max_redirects": -1},
        {"max_concurrent": 0}, {"max_concurrent": 1.5}, {"max_concurrent": float("inf")},
        {"headers": {"a.test": {"a b": "c"}}}, {"headers": {"a.test": {"Host": "b"}}},
        {"headers": {"a.test": {"a": "b\r\nc: d"}}},
    ],
)  # fmt: skip
def test_arguments_are_checked_when_they_are_given(arguments: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        HttpOutbound(**{"allow": [], **arguments})


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1",
        "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
        "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200",
        "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1",
        "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "no address",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_told(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808"])
def test_a_public_address_is_told(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["::1"], ["93.184.215.14", "10.0.0.1"]])
async def test_a_name_with_an_address_that_is_not_public_is_refused(server: WebServer, addresses: list[str]) -> None:
    handler = HttpOutbound(allow=[f"a.test:{server.port}"], resolve=Names({"a.test": addresses}))
    text = await refusal(handler, get(f"http://a.test:{server.port}/hello"))
    assert text == "The host a.test has an address that is not public."
    assert server.asked == []


async def test_an_address_that_is_not_public_is_refused_though_it_is_listed(server: WebServer) -> None:
    handler = HttpOutbound(allow=[server.authority])
    assert "not public" in await refusal(handler, get(f"{server.url}/hello"))
    assert server.asked == []


async def test_a_name_is_looked_up_once_and_the_connection_goes_to_what_was_found(server: WebServer) -> None:
    names = Names({"a.test": ["127.0.0.1"]})
    handler = outbound(server, allow=[f"a.test:{server.port}"], resolve=names)
    assert (await handler(get(f"http://a.test:{server.port}/hello"))).body == b"hello"
    assert names.asked == ["a.test"]
    assert server.asked[0].header("host") == [f"a.test:{server.port}"]


async def test_a_host_without_an_address_or_an_answer_is_named(server: WebServer, unused_port: int) -> None:
    handler = HttpOutbound(allow=["a.test"], resolve=Names({}))
    assert await refusal(handler, get("http://a.test/")) == "The host a.test was not found."
    where = f"127.0.0.1:{unused_port}"
    handler = HttpOutbound(allow=[where], allow_private=[where])
    assert await refusal(handler, get(f"http://{where}/")) == f"The host {where} cannot be connected to."


async def test_proxies_of_the_environment_are_not_heeded(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await outbound(server)(get(f"{server.url}/hello"))).body == b"hello"


# Redirects.


async def test_a_redirect_is_followed_and_told(server: WebServer) -> None:
    response = await outbound(server)(get(f"{server.url}/on"))
    assert (response.body, response.url) == (b"hello", f"{server.url}/hello")
    assert (await outbound(server)(get(f"{server.url}/odd-place"))).url == f"{server.url}/hello?q=a%20b%5Cc"


@pytest.mark.parametrize(
    ("path", "method", "onward"),
    [
        ("/on", "POST", "GET"), ("/moved", "POST", "GET"), ("/moved", "PUT", "PUT"), ("/see-other", "PUT", "GET"),
        ("/see-other", "HEAD", "HEAD"), ("/same-method", "POST", "POST"),
    ],
)  # fmt: skip
async def test_the_method_after_a_redirect_is_the_standards(
    server: WebServer, path: str, method: str, onward: str
) -> None:
    body = b"" if method == "HEAD" else b"abc"
    await outbound(server)(get(server.url + path, method=method, headers=[("content-type", "x/y")], body=body))
    second = server.asked[1]
    keeps = onward == method
    assert (second.method, second.body) == (onward, body if keeps else b"")
    assert second.header("content-type") == (["x/y"] if keeps else [])


async def test_redirects_without_end_have_one(server: WebServer) -> None:
    text = await refusal(outbound(server, max_redirects=3), get(f"{server.url}/on-and-on"))
    assert text == f"The host {server.authority} redirects more than 3 times."
    assert len(server.asked) == 4


@pytest.mark.parametrize("path", ["/file", "/user", "/half", "/halves"])
async def test_a_redirect_to_what_is_no_plain_url_is_refused(server: WebServer, path: str) -> None:
    assert await refusal(outbound(server), get(server.url + path)) == "The URL is none that can be requested."


async def test_a_location_counts_only_with_a_redirect_that_leads_somewhere(server: WebServer) -> None:
    response = await outbound(server)(get(f"{server.url}/located"))
    assert dict(response.headers)["location"] == "http://[/"
    for url in (f"{server.url}/astray", "http://[:::::]/"):
        text = await refusal(outbound(server, allow=[server.authority, "[:::::]"]), get(url))
        assert text == "The URL is none that can be requested."


async def test_a_redirect_is_checked_like_a_request(server: WebServer) -> None:
    with WebServer({"/": redirect(f"http://b.test:{server.port}/hello")}) as first:
        names = Names({"a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"]})
        start, private = f"a.test:{first.port}", [f"a.test:{first.port}"]
        unlisted = HttpOutbound(allow=[start], allow_private=private, resolve=names)
        assert "b.test" in await refusal(unlisted, get(f"http://{start}/"))
        assert names.asked == ["a.test"]
        listed = HttpOutbound(allow=[start, f"b.test:{server.port}"], allow_private=private, resolve=names)
        text = await refusal(listed, get(f"http://{start}/"))
    assert text == "The host b.test has an address that is not public."
    assert server.asked == []


async def test_what_was_written_for_one_origin_is_not_sent_to_another(server: WebServer) -> None:
    with WebServer({"/far": redirect(f"{server.url}/hello"), "/near": redirect("/far")}) as first:
        handler = outbound(
            server, allow=[first.authority, server.authority], headers={first.authority: {"X-Key": "key of the first"}}
        )
        headers = [("authorization", "mine"), ("cookie", "a=1"), ("x-other", "1")]
        await handler(get(f"{first.url}/near", headers=headers))
        sent = [[asked.header(name) for name in ("authorization", "cookie", "x-key")] for asked in first.asked]
    assert sent == [[["mine"], ["a=1"], ["key of the first"]]] * 2
    last = server.asked[0]
    assert [last.header(name) for name in ("authorization", "cookie", "x-key")] == [[], [], []]
    assert last.header("x-other") == ["1"]


# Credentials.


async def test_a_credential_reaches_the_server_and_wins_over_the_programs(server: WebServer) -> None:
    handler = outbound(server, headers={server.authority: {"Authorization": SECRET}})
    request = get(f"{server.url}/hello", headers=[("authorization", "forged")])
    response = await handler(request)
    assert server.asked[0].header("authorization") == [SECRET]
    assert SECRET not in repr(response) + repr(request) + repr(handler)


@pytest.mark.parametrize("path", ["/repeat", "/repeat-header"])
async def test_a_response_that_repeats_a_credential_is_withheld(server: WebServer, path: str) -> None:
    handler = outbound(server, headers={server.authority: {"Authorization": SECRET}})
    text = await refusal(handler, get(server.url + path))
    assert text == f"The response of {server.authority} repeats a credential, so it is withheld."


@pytest.mark.parametrize(
    ("host", "url", "is_sent"),
    [
        ("a.test", "https://a.test/", True),
        ("a.test", "http://a.test/", False),
        ("a.test:80", "http://a.test/", True),
        ("a.test", "https://b.a.test/", False),
        ("*.a.test", "https://b.a.test/", True),
        ("a.test:8443", "https://a.test/", False),
        ("a.test:443", "https://a.test/", True),
        ("a.test:443", "http://a.test:443/", False),
        ("*.a.test:443", "http://b.a.test:443/", False),
        ("[::1]:443", "http://[::1]:443/", False),
        ("a.test:00443", "http://a.test:443/", False),
        ("[::443]", "http://[::443]/", False),
    ],
)
def test_a_credential_goes_in_the_clear_only_where_such_a_port_is_written(host: str, url: str, is_sent: bool) -> None:
    assert _Credentials(host, {"x": "y"}).are_for(Target.of(url)) is is_sent


async def test_cookies_and_what_the_connection_is_about_are_not_told(server: WebServer) -> None:
    response = await outbound(server)(get(f"{server.url}/cookie"))
    assert {name for name, _ in response.headers} == {"content-length"}


# Bounds.


async def test_a_body_over_the_cap_is_not_read_to_its_end(server: WebServer) -> None:
    handler = outbound(server, max_body_bytes=1000)
    expected = f"The response of {server.authority} is over the limit of 1000 bytes."
    assert await refusal(handler, get(f"{server.url}/long")) == expected
    assert await refusal(outbound(server, max_body_bytes=1_000_000), get(f"{server.url}/bomb")) == expected.replace(
        "1000", "1000000"
    )
    text = await refusal(handler, get(f"{server.url}/hello", method="POST", body=bytes(1001)))
    assert text == "The request body of 1001 bytes is over the limit of 1000 bytes."
    assert len((await outbound(server, max_body_bytes=2000)(get(f"{server.url}/long"))).body) == 2000


def endless(hung_up: list[str], head: bytes, part: bytes) -> Any:
    """A route that sends `part` again and again until the client hangs up."""

    def send(asked: Asked) -> None:
        try:
            asked.connection.sendall(b"HTTP/1.1 " + head)
            while True:
                asked.connection.sendall(part)
        except OSError:
            hung_up.append(asked.path)

    return send


@pytest.mark.parametrize(
    ("head", "part", "expected"),
    [
        (b"200 OK\r\n\r\n", b"x" * 1000, "over the limit"),
        (b"200 OK\r\nContent-Encoding: gzip\r\n\r\n", b"x" * 1000, "encoding"),
        (b"200 OK\r\nContent-Encoding: br\r\n\r\n", b"x" * 1000, "encoding"),
        (b"302 Found\r\nLocation: file:///\r\n\r\n", b"x" * 1000, "none that can be requested"),
        (b"200 OK\r\n", b"X: y\r\n", "broke off"),
        (b"100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", "broke off"),
    ],
)
async def test_a_response_without_end_is_left(head: bytes, part: bytes, expected: str) -> None:
    hung_up: list[str] = []
    with WebServer({"/": endless(hung_up, head, part)}) as server:
        assert expected in await refusal(outbound(server, max_body_bytes=300_000), get(f"{server.url}/"))
        await until(lambda: hung_up == ["/"], "the server to notice")


async def test_a_head_has_a_cap_and_a_body_behind_it_has_not_that_one(server: WebServer) -> None:
    assert len((await outbound(server)(get(f"{server.url}/large"))).body) == 300_000
    text = await refusal(outbound(server), get(f"{server.url}/large-head"))
    assert text == f"The host {server.authority} broke off, or does not speak HTTP."


async def test_an_answer_is_taken_from_a_server_that_does_not_read_the_body() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        where = f"127.0.0.1:{listener.getsockname()[1]}"

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(100_000):
                    pass

        served = pool.submit(answer)
        handler = HttpOutbound(allow=[where], allow_private=[where])
        response = await handler(get(f"http://{where}/", method="POST", body=bytes(5_000_000)))
        assert (response.status, response.body) == (413, b"no")
        await until(served.done, "the server's end")


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_server_that_reads_nothing_is_left_after_the_time(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # Nobody accepts; the kernel connects all the same.
        where = f"127.0.0.1:{listener.getsockname()[1]}"
        trust = ssl.create_default_context()  # Made here: to find one is a part of the first request's time.
        handler = HttpOutbound(allow=[where], allow_private=[where], timeout_s=1, ssl_context=trust)
        text = await refusal(handler, get(f"{scheme}://{where}/", method="POST", body=bytes(10_000_000)))
        assert text == f"The host {where} gave no response within 1 s."
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(20)
            while connection.recv(1_000_000):  # Ends, as the client has hung up.
                pass


def test_a_bomb_is_inflated_no_further_than_the_room_and_one_byte() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    assert Decoder("gzip", "a.test").decode(bomb, 1000) == bytes(1001)


async def test_a_compressed_body_is_read_as_the_program_wants_it(server: WebServer) -> None:
    response = await outbound(server)(get(f"{server.url}/gzip"))
    assert (response.body, dict(response.headers)) == (b"hello", {})


@pytest.mark.parametrize("path", ["/torn", "/brotli"])
async def test_a_body_that_cannot_be_decoded_is_refused(server: WebServer, path: str) -> None:
    text = await refusal(outbound(server), get(server.url + path))
    assert text == f"The response of {server.authority} has an encoding that cannot be read."


async def test_too_many_headers_are_refused(server: WebServer) -> None:
    for headers in ([("a", "b")] * 101, [("a", "b" * 40_000)]):
        assert "too many" in await refusal(outbound(server), get(f"{server.url}/hello", headers=headers))
    assert server.asked == []


async def test_a_header_that_http_cannot_carry_is_refused(server: WebServer) -> None:
    text = await refusal(outbound(server), get(f"{server.url}/hello", headers=[("a", " b ")]))
    assert text == "The request has a header that HTTP cannot carry."
    assert server.asked == []


async def test_a_slow_server_is_left_after_the_time(server: WebServer) -> None:
    def hang(_asked: Asked) -> None:
        slow.ends.wait()

    def drip(asked: Asked) -> None:
        asked.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        slow.ends.wait()

    with WebServer({"/hang": hang, "/drip": drip}) as slow:
        for path in ("/hang", "/drip"):
            text = await refusal(outbound(slow, timeout_s=0.2), get(slow.url + path))
            assert text == f"The host {slow.authority} gave no response within 0.2 s."


class Held(Names):
    """A resolver that has an answer only after `gate` is set."""

    def __init__(self, addresses: Mapping[str, Sequence[str]]) -> None:
        super().__init__(addresses)
        self.gate = anyio.Event()

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        found = await super().__call__(host, port)
        await self.gate.wait()
        return found


async def test_requests_beyond_the_bound_wait_for_their_turn() -> None:
    names = [f"{letter}.test" for letter in "abcde"]
    held = Held({name: ["127.0.0.1"] for name in names})
    handler = HttpOutbound(allow=names, resolve=held, max_concurrent=2)
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(refusal, handler, get(f"http://{name}/"))
            await anyio.wait_all_tasks_blocked()
        assert held.asked == names[:2]
        held.gate.set()
    assert sorted(held.asked) == names


async def test_the_wait_for_a_turn_is_part_of_a_requests_time() -> None:
    gate = anyio.Event()
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        with anyio.CancelScope(shield=True):
            await gate.wait()
        return []

    handler = HttpOutbound(allow=["a.test", "b.test"], resolve=resolve, max_concurrent=1, timeout_s=0.2)
    async with anyio.create_task_group() as group:
        group.start_soon(refusal, handler, get("http://a.test/"))
        await until(lambda: asked == ["a.test"], "the first request's turn")
        text = await refusal(handler, get("http://b.test/"))
        gate.set()
    assert text == "The host b.test gave no response within 0.2 s."
    assert asked == ["a.test"]


async def test_a_request_that_is_cancelled_gives_its_turn_back(server: WebServer) -> None:
    held = Held({"a.test": ["127.0.0.1"]})
    where = f"a.test:{server.port}"
    handler = outbound(server, allow=[where], resolve=held, max_concurrent=1)
    async with anyio.create_task_group() as group:
        for _ in range(3):  # One has its turn, two wait.
            group.start_soon(handler, get(f"http://{where}/hello"))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    held.gate.set()
    assert (await handler(get(f"http://{where}/hello"))).body == b"hello"


def test_a_handler_serves_several_event_loops_at_once(server: WebServer) -> None:
    handler = outbound(server, max_concurrent=1)

    async def ask_thrice() -> list[bytes]:
        bodies: list[bytes] = []

        async def ask() -> None:
            bodies.append((await handler(get(f"{server.url}/hello"))).body)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)
        return bodies

    def run(backend: str) -> list[bytes]:
        return anyio.run(ask_thrice, backend=backend)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, ("asyncio", "trio") * 2)) == [[b"hello"] * 3] * 4


async def test_a_handler_that_is_gone_leaves_nothing_in_the_event_loop(server: WebServer) -> None:
    handler = outbound(server)
    await handler(get(f"{server.url}/hello"))
    turns = _turns.get()
    assert handler in turns
    gone = weakref.ref(handler)
    del handler
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"hello\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)  # fmt: skip
async def test_what_is_no_http_is_refused(raw: bytes) -> None:
    def reply(asked: Asked) -> None:
        asked.connection.sendall(raw)

    with WebServer({"/": reply}) as odd:
        text = await refusal(outbound(odd), get(f"{odd.url}/"))
        assert text == f"The host {odd.authority} broke off, or does not speak HTTP."


async def test_a_status_that_no_response_may_have_is_told(server: WebServer) -> None:
    assert (await refusal(outbound(server), get(f"{server.url}/odd"))).endswith("answered with the status 999.")


async def test_cancelling_lets_the_connection_go(server: WebServer) -> None:
    def hang(asked: Asked) -> None:
        asked.connection.recv(1)  # Ends when the client hangs up.
        hung_up.append(True)

    hung_up: list[bool] = []
    with WebServer({"/": hang}) as slow:
        async with anyio.create_task_group() as group:
            group.start_soon(outbound(slow), get(f"{slow.url}/"))
            await until(lambda: bool(slow.asked), "the request")
            group.cancel_scope.cancel()
    assert hung_up == [True]


# TLS.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls_server(authority: trustme.CA, name: str) -> WebServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return WebServer(ROUTES, context)


async def test_a_certificate_must_be_for_the_name_in_the_url(authority: trustme.CA) -> None:
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    names = Names({"a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"]})
    with tls_server(authority, "a.test") as server:
        places = [f"a.test:{server.port}", f"b.test:{server.port}"]
        trusting = outbound(server, allow=places, resolve=names, ssl_context=trust)
        plain = outbound(server, allow=places, resolve=names)
        assert (await trusting(get(f"https://{places[0]}/on"))).url == f"https://{places[0]}/hello"
        untrusted = "The host {} has no certificate that is trusted."
        assert await refusal(trusting, get(f"https://{places[1]}/hello")) == untrusted.format(places[1])
        assert await refusal(plain, get(f"https://{places[0]}/hello")) == untrusted.format(places[0])
    assert len(server.asked) == 2


async def test_a_server_without_tls_is_told(server: WebServer) -> None:
    text = await refusal(outbound(server), get(f"https://{server.authority}/hello"))
    assert text == f"The host {server.authority} does not speak TLS."


# Requests and responses.


@pytest.mark.parametrize(
    "make",
    [
        lambda: OutboundResponse(99), lambda: OutboundResponse(600), lambda: OutboundResponse(200, {"a b": "c"}),
        lambda: OutboundResponse(200, {"a": "b\nc"}), lambda: OutboundRequest("GET", "http://a.test/\r\nX: y"),
        lambda: OutboundRequest("GE T", "http://a.test/"), lambda: OutboundRequest("GET", "ftp://a.test/"),
        lambda: OutboundRequest("GET", "http://a.test/#x"),
        lambda: OutboundRequest("GET", "http://a.test/", [("a", "\0")]),
    ],
)  # fmt: skip
def test_what_http_cannot_carry_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"none|from 200"):
        make()


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "TRACK", "connect", "Trace"])
def test_what_only_proxies_are_asked_for_is_refused(method: str) -> None:
    with pytest.raises(ValueError, match="none that a program may use"):
        OutboundRequest(method, "http://a.test/")


def test_headers_may_be_a_mapping_and_a_body_a_text() -> None:
    response = OutboundResponse(200, {"A": "b"}, "é")
    assert (response.headers, response.body) == ([("A", "b")], "é".encode())


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("tooltoolexec.outbound.wire")
    monkeypatch.delitem(sys.modules, "tooltoolexec.outbound.wire")
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ImportError, match=r"pip install 'tooltoolexec\[outbound\]'"):
        HttpOutbound(allow=[])
