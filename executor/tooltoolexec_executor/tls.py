"""TLS in the daemon: the context that connections are made with, and one connection's cipher without its socket."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable

from tooltoolexec_executor.config import ConfigError, check_file

_READ_BYTES = 64 * 1024
_TEXT_CHARACTERS = 200
_EMPTY_BYTES = 64 * 1024
"""How much a client may send in a row that says nothing: it could renew its keys for ever, and that takes work."""


class TlsError(Exception):
    """The client cannot be let in, or broke TLS. The message is OpenSSL's."""


def server_context(certificate: str, key: str, client_authority: str | None) -> ssl.SSLContext:
    """A context for the daemon's end: TLS 1.2 at least, and a client's certificate where its authority is named.

    Raises:
        ConfigError: a file cannot be read or used.
    """
    files = {"tls_cert": certificate, "tls_key": key}
    if client_authority is not None:
        files["tls_client_ca"] = client_authority
    for name, file in files.items():
        check_file(name, file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A connection is short and there is one per run: nothing is gained by resuming, and a session outlives a reload.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        # Without a callback OpenSSL would ask on the terminal.
        context.load_cert_chain(certificate, key, password=_no_password)
    except OSError as error:  # OpenSSL's among them.
        raise ConfigError(
            f"tls_cert, tls_key: {certificate} and {key} are no certificate with its key in PEM ({reason_of(error)})."
        ) from None
    if client_authority is not None:
        try:
            context.load_verify_locations(client_authority)
        except OSError as error:
            raise ConfigError(
                f"tls_client_ca: {client_authority} holds no certificate in PEM ({reason_of(error)})."
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _no_password() -> str:
    raise ConfigError("tls_key: the key is encrypted. Take its passphrase off: openssl pkey -in KEY -out NEW")


def reason_of(error: OSError) -> str:
    """Why, in a few words: `certificate has expired`."""
    if not isinstance(error, ssl.SSLError):
        return error.strerror or type(error).__name__
    verify = getattr(error, "verify_message", "")
    reason = (error.reason or "").replace("_", " ").lower()
    return (f"{reason}: {verify}" if verify else reason or str(error))[:_TEXT_CHARACTERS]


class Cipher:
    """Bytes of one connection in and out. What `output` gives is to be sent to the client after each call."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._empty_bytes = 0

    @property
    def has_output(self) -> bool:
        """Whether something has to go to the client."""
        return bool(self._outgoing.pending)

    def output(self) -> bytes:
        """What has to go to the client now."""
        return self._outgoing.read()

    async def handshake(
        self, receive: Callable[[], Awaitable[bytes]], send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Shake hands.

        Raises:
            TlsError: client and daemon do not come together; what `output` then gives tells the client why.
            ConnectionError: the client hung up.
        """
        while True:
            try:
                self._object.do_handshake()
            except ssl.SSLWantReadError:
                await send(self.output())
                data = await receive()
                if not data:
                    raise ConnectionError from None
                self._incoming.write(data)
            except ssl.SSLError as error:
                raise TlsError(reason_of(error)) from None
            else:
                await send(self.output())
                return

    def decrypt(self, data: bytes) -> bytes | None:
        """What `data`, as it came from the client, says; None once the client has said that it is done.

        Raises:
            TlsError: it is not what was agreed on.
        """
        self._incoming.write(data)
        plain = bytearray()
        try:
            while part := self._object.read(_READ_BYTES):
                plain += part
        except ssl.SSLWantReadError:
            self._empty_bytes = 0 if plain else self._empty_bytes + len(data)
            if self._empty_bytes > _EMPTY_BYTES:
                raise TlsError("it says nothing at length") from None
            return bytes(plain)
        except ssl.SSLZeroReturnError:
            pass
        except ssl.SSLError as error:
            raise TlsError(reason_of(error)) from None
        return bytes(plain) or None

    def encrypt(self, data: bytes | memoryview) -> None:
        """Let `output` give `data` next."""
        self._object.write(data)

    def finish(self) -> None:
        """Let `output` say that nothing follows."""
        try:
            self._object.unwrap()
        except ssl.SSLError:  # It would wait for the client's answer, or is broken already.
            return
