#!/usr/bin/env python3
"""A DoH service (RFC 8484) over HTTP/2 and TLS that misbehaves on command, for tests.

  doh.py CERTIFICATE KEY ADDRESS TTL PORTS

Listens on PORTS ports of 127.0.0.1 and on one more for orders, and prints their numbers in a line, that of the orders
last. Every name has one A record, ADDRESS with TTL, and no other records. Orders come one a line, and each is answered
with a line:

  behave LABEL WHERE BEHAVIOUR [ARGUMENT]   what is done with requests for names that hold LABEL; `*`: all names without
                                            a rule of their own. WHERE is `everywhere`, or `existing`: on connections of
                                            now alone
  close                                     breaks all connections, and takes no more
  open                                      ends `close`
  log                                       connections so far, and all requests: connection, port, name, type

  answer        the proper reply
  delay N       the proper reply N seconds later
  hang          no reply, until another rule comes for the name
  ping          as `hang`, and ten PINGs a second
  drip          the head of a reply, and a byte of its body each 100 ms, without an end
  status N      a reply with this status and a short body
  garbage       a body that is no DNS message
  opaque        the proper reply with a record of type 30 (NXT) whose RDATA cannot be read
  reset         RST_STREAM, INTERNAL_ERROR

A stream that the client has reset brings nothing more.
"""

import asyncio
import base64
import ctypes
import json
import ssl
import struct
import sys
import urllib.parse

DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 1, 1, 4, 8, 32
MAX_CONCURRENT_STREAMS, INTERNAL_ERROR = 3, 2
A, NS = 1, 2
PAUSE = 0.1


class Field(ctypes.Structure):
    """nghttp2_nv."""

    _fields_ = [
        ("name", ctypes.c_void_p),
        ("value", ctypes.c_void_p),
        ("name_length", ctypes.c_size_t),
        ("value_length", ctypes.c_size_t),
        ("flags", ctypes.c_uint8),
    ]


class HeaderReader:
    """HPACK (RFC 7541), of one connection."""

    library = ctypes.CDLL("libnghttp2.so.14")
    library.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t
    FINAL, EMIT = 1, 2

    def __init__(self):
        self.inflater = ctypes.c_void_p()
        self.library.nghttp2_hd_inflate_new(ctypes.byref(self.inflater))

    def __del__(self):
        self.library.nghttp2_hd_inflate_del(self.inflater)

    def fields(self, block: bytes) -> dict[bytes, bytes]:
        fields: dict[bytes, bytes] = {}
        while True:
            field, flags = Field(), ctypes.c_int()
            count = self.library.nghttp2_hd_inflate_hd2(
                self.inflater, ctypes.byref(field), ctypes.byref(flags), block, ctypes.c_size_t(len(block)), 1
            )
            if count < 0:
                raise ConnectionError("not HPACK")
            block = block[count:]
            if flags.value & self.EMIT:
                name = ctypes.string_at(field.name, field.name_length)
                fields[name] = ctypes.string_at(field.value, field.value_length)
            if flags.value & self.FINAL:
                self.library.nghttp2_hd_inflate_end_headers(self.inflater)
                return fields


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def head(stream: int, status: str = "200") -> bytes:
    """The status, and the media type: literals without a place in the table (RFC 7541 section 6.2.2)."""
    media_type = b"application/dns-message"
    fields = b"\x08\x03" + status.encode() + b"\x0f\x10" + bytes([len(media_type)]) + media_type
    return frame(HEADERS, END_HEADERS, stream, fields)


def reply(stream: int, body: bytes, status: str = "200") -> bytes:
    return head(stream, status) + frame(DATA, END_STREAM, stream, body)


class Query:
    """A DNS message that asks one question."""

    def __init__(self, message: bytes):
        self.message = message
        labels, end = [], 12
        while message[end]:
            labels.append(message[end + 1 : end + 1 + message[end]].decode("latin-1").lower())
            end += 1 + message[end]
        self.name = ".".join(labels)
        self.labels = set(labels)
        (self.type,) = struct.unpack(">H", message[end + 1 : end + 3])
        self.question = message[12 : end + 5]

    def response(self, address: str, ttl: int, opaque: bool = False) -> bytes:
        def record(kind: int, data: bytes) -> bytes:
            return b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data

        if self.type == A:
            answers, authorities = [record(A, bytes(map(int, address.split("."))))], []
        elif self.type == NS:
            answers, authorities = [record(NS, b"\xc0\x0c")], []
        else:
            answers, authorities = [], [record(6, bytes(2) + struct.pack(">5I", 1, 7200, 3600, 86400, ttl))]
        if opaque:
            answers.append(record(30, b"\xff\x01\x02\x03"))
        header = self.message[:2] + struct.pack(">HHHHH", 0x8180, 1, len(answers), len(authorities), 0)
        return header + self.question + b"".join(answers + authorities)


class Connection:
    def __init__(self, service: "Service", port: int, writer: asyncio.StreamWriter):
        service.count += 1
        self.number = service.count
        self.service, self.port, self.writer = service, port, writer
        self.reader = HeaderReader()
        self.bodies: dict[int, bytes] = {}
        # Requests without a whole reply.
        self.open: dict[int, Query] = {}
        self.held: set[int] = set()
        self.pinging: asyncio.TimerHandle | None = None
        service.connections.add(self)

    async def serve(self, source: asyncio.StreamReader) -> None:
        # The client's preface (RFC 9113 section 3.4).
        await source.readexactly(24)
        self.writer.write(frame(SETTINGS, 0, 0, struct.pack(">HI", MAX_CONCURRENT_STREAMS, 100)))
        while True:
            start = await source.readexactly(9)
            kind, flags = start[3], start[4]
            stream = int.from_bytes(start[5:]) & 0x7FFFFFFF
            self.take(kind, flags, stream, await source.readexactly(int.from_bytes(start[:3])))

    def take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == SETTINGS and not flags & ACK:
            self.writer.write(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self.writer.write(frame(PING, ACK, 0, payload))
        elif kind == RST_STREAM:
            self.forget(stream)
        elif kind in (HEADERS, DATA):
            if flags & PADDED:
                payload = payload[1 : len(payload) - payload[0]]
            if kind == HEADERS:
                fields = self.reader.fields(payload[5:] if flags & PRIORITY else payload)
                _, _, query = fields.get(b":path", b"").decode().partition("?")
                text = urllib.parse.parse_qs(query).get("dns", [""])[0]
                self.bodies[stream] = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            elif stream in self.bodies:
                self.bodies[stream] += payload
            if flags & END_STREAM:
                self.open[stream] = Query(self.bodies.pop(stream))
                self.service.note(self, self.open[stream])
                self.act(stream)

    def forget(self, stream: int) -> None:
        self.open.pop(stream, None)
        self.held.discard(stream)

    def release(self) -> None:
        for stream in sorted(self.held):
            self.held.discard(stream)
            self.act(stream)

    def act(self, stream: int) -> None:
        query = self.open[stream]
        behaviour, argument = self.service.behaviour(query, self.number)
        match behaviour:
            case "answer" | "opaque":
                self.end(stream, reply(stream, self.service.response(query, behaviour == "opaque")))
            case "delay":
                late = reply(stream, self.service.response(query))
                asyncio.get_running_loop().call_later(float(argument), self.end, stream, late)
            case "status":
                self.end(stream, reply(stream, b"no", argument))
            case "garbage":
                self.end(stream, reply(stream, bytes((i * 151 + 3) % 256 for i in range(100))))
            case "reset":
                self.end(stream, frame(RST_STREAM, 0, stream, struct.pack(">I", INTERNAL_ERROR)))
            case "drip":
                self.writer.write(head(stream))
                self.drip(stream)
            case _:
                self.held.add(stream)
                if behaviour == "ping" and self.pinging is None:
                    self.ping()

    def end(self, stream: int, last: bytes) -> None:
        if self.open.pop(stream, None):
            self.writer.write(last)

    def drip(self, stream: int) -> None:
        if stream in self.open:
            self.writer.write(frame(DATA, 0, stream, b"\0"))
            asyncio.get_running_loop().call_later(PAUSE, self.drip, stream)

    def ping(self) -> None:
        self.pinging = None
        if self.held:
            self.writer.write(frame(PING, 0, 0, bytes(8)))
            self.pinging = asyncio.get_running_loop().call_later(PAUSE, self.ping)


class Service:
    def __init__(self, context: ssl.SSLContext, address: str, ttl: int):
        self.context, self.address, self.ttl = context, address, ttl
        self.count = 0
        self.connections: set[Connection] = set()
        # By label: behaviour, its argument, and the last connection that it is for.
        self.rules: dict[str, tuple[str, str, float]] = {}
        self.requests: list[tuple[int, int, str, int]] = []
        self.ports: list[int] = []
        self.listeners: list[asyncio.Server] = []

    def behaviour(self, query: Query, connection: int) -> tuple[str, str]:
        for label, (behaviour, argument, last) in self.rules.items():
            if label in query.labels and connection <= last:
                return behaviour, argument
        behaviour, argument, last = self.rules.get("*", ("answer", "", 0))
        return (behaviour, argument) if connection <= last else ("answer", "")

    def response(self, query: Query, opaque: bool = False) -> bytes:
        return query.response(self.address, self.ttl, opaque)

    def note(self, connection: Connection, query: Query) -> None:
        self.requests.append((connection.number, connection.port, query.name, query.type))

    async def listen(self, ports: list[int]) -> None:
        for place, port in enumerate(ports):
            server = await asyncio.start_server(
                lambda reader, writer, place=place: self.accept(place, reader, writer),
                "127.0.0.1",
                port,
                ssl=self.context,
                backlog=128,
            )
            self.listeners.append(server)
        self.ports = [server.sockets[0].getsockname()[1] for server in self.listeners]

    async def accept(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(self, port, writer)
        try:
            await connection.serve(reader)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            connection.open.clear()
            connection.held.clear()
            self.connections.discard(connection)
            writer.transport.abort()

    async def obey(self, order: str) -> object:
        match order.split():
            case ["behave", label, where, behaviour, *rest]:
                last = self.count if where == "existing" else float("inf")
                self.rules[label] = (behaviour, rest[0] if rest else "", last)
                for connection in list(self.connections):
                    connection.release()
            case ["close"]:
                for server in self.listeners:
                    server.close()
                self.listeners = []
                for connection in list(self.connections):
                    connection.writer.transport.abort()
            case ["open"]:
                await self.listen(self.ports)
            case ["log"]:
                return {"connections": self.count, "requests": self.requests}
        return {}

    async def take_orders(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(await self.obey(line.decode())).encode() + b"\n")
        writer.close()


async def main() -> None:
    certificate, key, address, ttl, ports = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    # A client that breaks off a handshake is not reported.
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    service = Service(context, address, int(ttl))
    await service.listen([0] * int(ports))
    orders = await asyncio.start_server(service.take_orders, "127.0.0.1", 0)
    print(*service.ports, orders.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
