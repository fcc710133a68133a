"""Who may connect: named tokens, users of this machine, certificates. Made from settings and files; again on reload."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import pwd
import re
import ssl
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from tooltoolexec_executor.config import Config, ConfigError, check_file
from tooltoolexec_executor.tls import server_context
from tooltoolexec_protocol.address import Address, TcpAddress

log = logging.getLogger("tooltoolexec")

TOKENS_VARIABLE = "TOOLTOOLEXEC_TOKENS"
_LEAST_CHARACTERS = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_FILE_BYTES = 1 << 20
_UID_DIGITS = 10


class Credential(NamedTuple):
    """A token as the daemon keeps it: whose it is, and its SHA-256."""

    name: str
    digest: bytes


class Tokens:
    """The tokens that are valid now."""

    def __init__(self, credentials: Iterable[Credential]) -> None:
        self._credentials = tuple(credentials)

    def recognise(self, token: str) -> Credential | None:
        """Whose token it is. Takes the same time for every wrong one: all are compared, each in constant time."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        found = None
        for credential in self._credentials:
            if hmac.compare_digest(credential.digest, digest):
                found = credential
        return found

    def holds(self, credential: Credential) -> bool:
        """Whether it has not been revoked since."""
        return credential in self._credentials

    def __bool__(self) -> bool:
        return bool(self._credentials)


@dataclass(frozen=True, slots=True)
class Access:
    """Who may connect.

    Attributes:
        tokens: for TCP.
        users: the numbers of the users who may connect to Unix sockets; None leaves it to the sockets' mode.
        tls: for TLS connections; None where there is no certificate.
        needs_token: whether a TCP client must have a token. One that gives a wrong one is refused in any case.
    """

    tokens: Tokens
    users: frozenset[int] | None = None
    tls: ssl.SSLContext | None = None
    needs_token: bool = True

    @classmethod
    def of(cls, config: Config, environment: Mapping[str, str]) -> Self:
        """As the settings, the files they name and the environment say.

        Raises:
            ConfigError: a file cannot be read or used, or there is an address that nobody could connect to.
        """
        access = cls(
            tokens=Tokens(_credentials(config.token_file, environment.get(TOKENS_VARIABLE, ""))),
            users=_users(config.allow_users),
            tls=None
            if config.tls_cert is None or config.tls_key is None
            else server_context(config.tls_cert, config.tls_key, config.tls_client_ca),
            needs_token=not config.insecure_no_token,
        )
        for address in config.addresses():
            access.check_address(address)
        return access

    def check_address(self, address: Address) -> None:
        """Raises ConfigError for an address that would let in everybody, or nobody, for want of tokens."""
        if isinstance(address, TcpAddress) and self.needs_token and not self.tokens:
            raise ConfigError(
                f"listen: clients of {address} need a token, and there is none. Name a token_file or set "
                f"{TOKENS_VARIABLE}, or say insecure_no_token to let in every process that can reach the port."
            )

    def admits(self, uid: int) -> bool:
        """Whether that user may connect to a Unix socket whose mode has let it in."""
        return self.users is None or uid in self.users


def warn_of_risks(config: Config) -> None:
    """Log what the settings leave open, once at the start."""
    if config.insecure_no_token:
        log.warning("insecure_no_token: every process that can reach a TCP port may run programs here.")
    if config.insecure_no_tls:
        log.warning("insecure_no_tls: tcp:// carries tokens and programs in the clear; anybody on the way reads them.")
    if config.insecure_any_user:
        log.warning("insecure_any_user: every user of this machine may run programs here.")
    if config.token_file is not None and _mode_of(config.token_file) & stat.S_IROTH:
        log.warning("token_file: every user of this machine can read %s. Give it the mode 600.", config.token_file)


def _mode_of(file: str) -> int:
    try:
        return Path(file).stat().st_mode
    except OSError:  # It was read a moment ago, and has gone.
        return 0


def _users(names: list[str]) -> frozenset[int] | None:
    if not names:
        return None
    return frozenset({os.getuid(), *(_user(name) for name in names)})


def _user(name: str) -> int:
    if name.isascii() and name.isdigit() and len(name) <= _UID_DIGITS:
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        raise ConfigError(f"allow_users: this machine has no user {name!r}. Write a name or a number.") from None


def _credentials(file: str | None, variable: str) -> Iterator[Credential]:
    for number, entry in enumerate(variable.split(), 1):
        name, _, token = entry.partition("=")
        yield _credential(name, token, f"{TOKENS_VARIABLE}, entry {number}", "NAME=TOKEN")
    if file is not None:
        yield from _of_file(file)


def _of_file(file: str) -> Iterator[Credential]:
    check_file("token_file", file)
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(_FILE_BYTES + 1)
        if len(data) > _FILE_BYTES:
            raise ConfigError(f"token_file: {file} is larger than {_FILE_BYTES} bytes.")
        text = data.decode()
    except OSError as error:
        raise ConfigError(f"token_file: cannot read {file}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"token_file: {file} is no text.") from None
    for number, line in enumerate(text.splitlines(), 1):
        name, *rest = line.split(maxsplit=1)[:2] or ("",)
        if name and not name.startswith("#"):
            yield _credential(name, "".join(rest).strip(), f"{file}, line {number}", "NAME TOKEN or NAME sha256:HEX")


def _credential(name: str, token: str, where: str, form: str) -> Credential:
    """No message holds a part of a token."""
    if not token or not _NAME.fullmatch(name):  # A name without a token may be the token.
        raise ConfigError(f"{where}: write {form}; a name has letters, digits, dot, dash and underscore.")
    if digest := _DIGEST.fullmatch(token):
        return Credential(name, bytes.fromhex(digest[1]))
    if len(token) < _LEAST_CHARACTERS or len(token.split()) != 1:
        raise ConfigError(
            f"{where}: the token of {name} is one word of at least {_LEAST_CHARACTERS} characters. "
            "Make one with: openssl rand -hex 32"
        )
    if token.lower().startswith("sha256:"):
        raise ConfigError(f"{where}: after sha256: come 64 hexadecimal digits in lower case.")
    return Credential(name, hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest())
