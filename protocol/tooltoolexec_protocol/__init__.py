"""The wire between a tooltoolexec client, daemon and worker: bytes in, messages out.

Nothing here opens a socket, reads a clock or knows trio, asyncio or V8. Read in this order: ``texts``, ``errors``,
``limits``, ``messages``, ``framing``, ``connection``, then ``codec``, ``envelope``, ``names`` and ``address``.
"""
