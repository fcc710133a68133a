"""Whom the client trusts over TLS and what it shows for itself, and what became of that in a sentence to act on."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from tooltoolexec_protocol.address import TcpAddress
from tooltoolexec_protocol.errors import ConnectError

FilePath = str | os.PathLike[str]

# OpenSSL's numbers; the module `ssl` has no names for them.
_NOT_YET_VALID, _EXPIRED, _OTHER_NAME, _OTHER_IP = 9, 10, 62, 64
_NO_ISSUER = frozenset({2, 18, 19, 20, 21})
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "BAD_RECORD_TYPE")
_NO_COMMON_VERSION = "it speaks no version of TLS that this client accepts (1.2 and newer)."
_MEANINGS = {
    "UNSUPPORTED_PROTOCOL": _NO_COMMON_VERSION,
    "TLSV1_ALERT_PROTOCOL_VERSION": _NO_COMMON_VERSION,
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a client certificate. Pass cert=PATH and key=PATH.",
    # TLS 1.2 says no more, also where it wants a certificate.
    "SSLV3_ALERT_HANDSHAKE_FAILURE": (
        "it refused the TLS handshake. If it wants a client certificate, pass cert=PATH and key=PATH."
    ),
}
_TEXT_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """What a caller says about TLS; see `connect`."""

    ca: FilePath | None = None
    cert: FilePath | None = None
    key: FilePath | None = None
    server_name: str | None = None

    def check(self, *, tls: bool) -> None:
        """Raises ValueError for what does not go together."""
        for name in self.__slots__:
            if getattr(self, name) is not None and not tls:
                raise ValueError(f"{name} is for tls:// addresses")
        if (self.cert is None) is not (self.key is None):
            missing, given = ("cert", "key") if self.cert is None else ("key", "cert")
            raise ValueError(f"{given} is given without {missing}: pass both")


class Trust:
    """What TLS connections to `address` are made with. Files are read here, once.

    Raises:
        ValueError: the server's name cannot be one.
        ConnectError: a file cannot be read or used.
    """

    def __init__(self, address: TcpAddress, options: TlsOptions) -> None:
        self._address = address
        self._ca = options.ca
        self.server_name = address.host if options.server_name is None else options.server_name
        # Certificates are required and names are checked: that is what this protocol is for in the module `ssl`.
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.options |= ssl.OP_NO_RENEGOTIATION
        if options.ca is None:
            self.context.load_default_certs()
        else:
            self._load_authority(options.ca)
        if options.cert is not None and options.key is not None:
            self._load_certificate(options.cert, options.key)
        try:
            self.context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=self.server_name)
        except (ValueError, TypeError):
            raise ValueError(f"server_name is a host name or an IP address, not {self.server_name!r}") from None

    def _load_authority(self, ca: FilePath) -> None:
        self._check_readable("ca", ca)
        try:
            self.context.load_verify_locations(ca)
        except ssl.SSLError as error:
            raise self._unusable(f"the file {os.fspath(ca)} (ca) has no certificate in PEM form", error) from None

    def _load_certificate(self, cert: FilePath, key: FilePath) -> None:
        self._check_readable("cert", cert)
        self._check_readable("key", key)
        try:
            # Without a password OpenSSL would ask for one at the terminal.
            self.context.load_cert_chain(cert, key, password=self._refuse_encrypted)
        except ssl.SSLError as error:
            what = f"the files {os.fspath(cert)} (cert) and {os.fspath(key)} (key) are no certificate with its key"
            raise self._unusable(what, error) from None

    def _refuse_encrypted(self) -> str:
        raise ConnectError(
            str(self._address), "the key is encrypted. Take the passphrase off: openssl pkey -in KEY -out NEW"
        )

    def _check_readable(self, name: str, file: FilePath) -> None:
        try:
            Path(file).open("rb").close()
        except OSError as error:
            reason = f"the file {os.fspath(file)} ({name}) cannot be read: {error.strerror}."
            raise ConnectError(str(self._address), reason) from None

    def _unusable(self, what: str, error: ssl.SSLError) -> ConnectError:
        return ConnectError(str(self._address), f"{what} ({_words(error)}).")

    def explain(self, error: ssl.SSLError) -> str:
        """Why there is no connection, and what to do about it."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return self._explain_verification(error)
        reason = error.reason or ""
        if reason in _MEANINGS:
            return _MEANINGS[reason]
        if "_ALERT_" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
            return f"it does not accept this client's certificate ({_words(error)}). Pass another as cert=PATH."
        if reason in _NO_TLS:
            plain = TcpAddress(self._address.host, self._address.port)
            return f"what answers there does not speak TLS. Connect to {plain} if the daemon listens without it."
        return f"TLS failed ({_words(error)})."

    def _explain_verification(self, error: ssl.SSLCertVerificationError) -> str:
        code = error.verify_code
        if code == _EXPIRED:
            return "its certificate has expired. Its operator must renew it."
        if code == _NOT_YET_VALID:
            return "its certificate is not valid yet. Compare the clocks of the two machines."
        if code in (_OTHER_NAME, _OTHER_IP):
            return f"its certificate is not for {self.server_name}. Pass server_name=NAME if it is for another name."
        if code not in _NO_ISSUER:
            return f"its certificate is not accepted ({_words(error)})."
        if self._ca is not None:
            return f"its certificate is not signed by an authority in {os.fspath(self._ca)}. Pass another as ca=PATH."
        return (
            "its certificate is not signed by an authority that this machine trusts. "
            "Pass ca=PATH if it is signed by an authority of your own."
        )


def _words(error: ssl.SSLError) -> str:
    """OpenSSL's reason as words: `certificate expired`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message[:_TEXT_CHARACTERS]
    reason = (error.reason or str(error)).rpartition("_ALERT_")[2]
    return reason.replace("_", " ").lower()[:_TEXT_CHARACTERS]
