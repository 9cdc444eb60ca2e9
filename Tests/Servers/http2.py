#!/usr/bin/env python3
"""An HTTP/2 server over TLS with a chosen misbehaviour, for tests.

  http2.py FOLDER CERTIFICATE KEY STREAMS BEHAVIOUR...

Listens on 127.0.0.1, writes its port to FOLDER/port and a line for each connection to FOLDER/connections. STREAMS is the
number of concurrent requests that it announces. The first connection shows the first BEHAVIOUR, and so on; all further ones
show the last:

  answer        each request gets a reply at once
  slow          each request gets a reply after 100 ms, one after the other
  fail          each request gets a reply with status 500 at once
  hang          no request gets a reply
  ping          no request gets a reply, but PINGs come without end, 100 a second
  flood         no request gets a reply, but answers to PINGs that were never sent come as fast as they are taken
  complain      each request gets a reply with a body of one byte over 64 KiB. With the 25th stream that the client resets the
                connection ends (GOAWAY, ENHANCE_YOUR_CALM), and a line is written to FOLDER/goodbyes
  break         the first request ends the connection, without a frame
  goodbye       with the first request the connection is said to end (GOAWAY); no reply comes. Once the client has read that, a
                line is written to FOLDER/goodbyes
  refuse        each request is refused (RST_STREAM, REFUSED_STREAM)
  downgrade     each request is to be sent over HTTP/1.1 (RST_STREAM, HTTP_1_1_REQUIRED); there it gets a reply at once
  cut           half a reply, and the stream ends without an error (RST_STREAM, NO_ERROR)
  chaos         each request's body is sent back, or one of many things is done instead that a server should not do; which, the
                connection's number decides as the seed of a generator
  doh           each question (GET of RFC 8484) has the address 192.0.2.1, but that for a name which begins with `fin`, `reset`
                or `goodbye` ends the connection so, with all that is under way on it; `untaken` ends it as if nothing on it
                had been processed (GOAWAY, last stream 0); that for one with `late` comes after
                1.1 s, and before anything else is read, and that for one with `hang` never; one with `downgrade` is as above
  confuse       a frame on a stream that was never opened, which is an error of the connection; it stays open
"""

import base64
import io
import os
import random
import socket
import ssl
import struct
import sys
import threading
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 5, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
MAX_CONCURRENT_STREAMS, NO_ERROR, REFUSED_STREAM, ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 3, 0, 7, 11, 13
# Streams that a client may reset.
RESETS = 24


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header(stream: int) -> bytes:
    """Status 200, which has a number of its own (RFC 7541 appendix A)."""
    return frame(HEADERS, END_HEADERS, stream, b"\x88")


def reply(stream: int) -> bytes:
    return header(stream) + frame(DATA, END_STREAM, stream, b"{}")


def reset(stream: int, code: int) -> bytes:
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def behave(behaviour: str, connection: ssl.SSLSocket, stream: int) -> None:
    """Treats one request as the connection's behaviour defines."""
    if behaviour == "answer":
        connection.sendall(reply(stream))
    elif behaviour == "fail":
        # Status 500 has a number of its own, too.
        connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\x8e"))
    elif behaviour == "complain":
        connection.sendall(header(stream))
        for length in [16_384] * 4 + [1]:
            connection.sendall(frame(DATA, END_STREAM if length == 1 else 0, stream, bytes(length)))
    elif behaviour == "ping":
        while True:
            connection.sendall(frame(PING, 0, 0, bytes(8)))
            time.sleep(0.01)
    elif behaviour == "flood":
        while True:
            connection.sendall(frame(PING, ACK, 0, bytes(8)) * 1_000)
    elif behaviour == "slow":
        time.sleep(0.1)
        connection.sendall(reply(stream))
    elif behaviour == "break":
        connection.shutdown(socket.SHUT_RDWR)
    elif behaviour == "goodbye" and stream == 1:
        # An answer to the PING shows that what came before it was read.
        connection.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", stream, NO_ERROR)) + frame(PING, 0, 0, bytes(8)))
    elif behaviour == "refuse":
        connection.sendall(reset(stream, REFUSED_STREAM))
    elif behaviour == "downgrade":
        connection.sendall(reset(stream, HTTP_1_1_REQUIRED))
    elif behaviour == "cut":
        connection.sendall(header(stream) + frame(DATA, 0, stream, b"192.0.2.1;192.") + reset(stream, NO_ERROR))
    elif behaviour == "confuse":
        connection.sendall(frame(DATA, 0, stream + 100, b"x"))


class Chaos:
    """Answers requests on one connection, in any order, and misbehaves on purpose."""

    def __init__(self, connection: ssl.SSLSocket, seed: int):
        self.connection = connection
        self.numbers = random.Random(seed)
        # The bodies of requests under way, and replies that were begun.
        self.bodies: dict[int, bytes] = {}
        self.begun: list[tuple[int, bytes]] = []

    def take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == DATA and payload:
            self.connection.sendall(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload))))
        if kind in (HEADERS, DATA):
            self.bodies[stream] = self.bodies.get(stream, b"") + (payload if kind == DATA else b"")
            if flags & END_STREAM:
                self.answer(stream, self.bodies.pop(stream))

    def answer(self, stream: int, body: bytes) -> None:
        half = len(body) // 2
        whole = header(stream) + frame(DATA, END_STREAM, stream, body)
        done = whole
        match self.numbers.randrange(200):
            case 0:
                done = header(stream) + frame(DATA, 0, stream, body[:half]) + reset(stream, NO_ERROR)
            case 1:
                # Not HTTP_1_1_REQUIRED: over HTTP/1.1 each request gets the same reply.
                done = reset(stream, self.numbers.randrange(HTTP_1_1_REQUIRED))
            case 2:
                done = whole + whole
            case 3:
                done = whole + frame(DATA, 0, stream + 100, b"x")
            case 4:
                done = frame(GOAWAY, 0, 0, struct.pack(">II", stream, NO_ERROR)) + whole
            case 5:
                done = frame(GOAWAY, 0, 0, struct.pack(">II", 0, NO_ERROR)) + whole
            case 6:
                done = self.numbers.randbytes(64)
            case 7:
                done = header(stream)
            case 8:
                done = frame(DATA, END_STREAM, stream, body)
            case 9:
                done = frame(PUSH_PROMISE, END_HEADERS, stream, struct.pack(">I", 2) + b"\x82\x84\x87\x01\x01a") + whole
            case 10:
                self.connection.shutdown(socket.SHUT_RDWR)
            case 11:
                # The flag of a last frame where it means nothing, and then the stream ends.
                update = frame(WINDOW_UPDATE, END_STREAM, stream, struct.pack(">I", 1))
                done = header(stream) + frame(DATA, 0, stream, body[:half]) + update + reset(stream, NO_ERROR)
            case number if number < 100:
                self.connection.sendall(header(stream) + frame(DATA, 0, stream, body[:half]))
                self.begun.append((stream, body[half:]))
                self.numbers.shuffle(self.begun)
                done = b""
        self.connection.sendall(done)
        while len(self.begun) > 3:
            late, rest = self.begun.pop()
            self.connection.sendall(frame(DATA, END_STREAM, late, rest))


def codes() -> dict[str, str]:
    """The codes of the characters of URLs: by length, and of one length in the order of the characters (RFC 7541 appendix B)."""
    result, code = {}, 0
    for length, characters in (
        (5, "012aceiost"),
        (6, " %-./3456789=A_bdfghlmnpru"),
        (7, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
        (8, "&*,;XZ"),
        (9, ""),
        (10, '!"()?'),
    ):
        for character in characters:
            result[f"{code:0{length}b}"] = character
            code += 1
        code <<= 1
    return result


CODES = codes()


def number(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """A number, and where the next thing begins (RFC 7541 section 5.1)."""
    value, at = block[at] & ((1 << bits) - 1), at + 1
    if value < (1 << bits) - 1:
        return value, at
    shift = 0
    while True:
        value, shift, at = value + ((block[at] & 127) << shift), shift + 7, at + 1
        if block[at - 1] < 128:
            return value, at


def path(block: bytes) -> str:
    """The `:path` of a request, which is a literal with the name's number (RFC 7541 section 6.2)."""
    at = 0
    while at < len(block):
        first = block[at]
        if first & 128 or first & 224 == 32:
            # A whole field, or the size of the table.
            _, at = number(block, at, 7 if first & 128 else 5)
            continue
        index, at = number(block, at, 6 if first & 64 else 4)
        for is_value in [True] if index else [False, True]:
            is_coded = block[at] & 128
            length, at = number(block, at, 7)
            text, at = block[at : at + length], at + length
            if is_value and index in (4, 5):
                return decoded(text) if is_coded else text.decode()
    return ""


def decoded(text: bytes) -> str:
    result, code = "", ""
    for bit in "".join(f"{byte:08b}" for byte in text):
        code += bit
        if code in CODES:
            result, code = result + CODES[code], ""
    return result


def answer(connection: ssl.SSLSocket, stream: int, block: bytes) -> None:
    """Answers the DNS query of a request, or ends the connection at its name."""
    text = path(block).partition("dns=")[2]
    query = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    name = query[13 : 13 + query[12]]
    end = query.index(b"\0", 12) + 5
    if name.startswith((b"reset", b"fin", b"goodbye", b"untaken")):
        # What was sent with it is under way then.
        time.sleep(0.01)
        if name.startswith(b"goodbye"):
            connection.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", stream + 100, NO_ERROR)))
        if name.startswith(b"untaken"):
            connection.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", 0, NO_ERROR)))
        if name.startswith(b"reset"):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            socket.close(connection.detach())
        else:
            connection.shutdown(socket.SHUT_RDWR)
        return
    if name.startswith(b"hang"):
        return
    if name.startswith(b"downgrade"):
        return connection.sendall(reset(stream, HTTP_1_1_REQUIRED))
    if name.startswith(b"late"):
        time.sleep(1.1)
    is_ipv4 = query[end - 4 : end - 2] == b"\0\1"
    record = b"\xc0\x0c" + query[end - 4 : end] + struct.pack(">IH", 60, 4) + bytes([192, 0, 2, 1])
    head = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_ipv4 else b"\0\0") + bytes(4)
    body = head + query[12:end] + (record if is_ipv4 else b"")
    # The media type is a literal with the name's number.
    fields = b"\x88\x0f\x10\x17application/dns-message"
    connection.sendall(frame(HEADERS, END_HEADERS, stream, fields) + frame(DATA, END_STREAM, stream, body))


def serve(
    plain: socket.socket, context: ssl.SSLContext, streams: int, behaviour: str, number: int, goodbyes: io.TextIOBase
) -> None:
    with context.wrap_socket(plain, server_side=True) as connection, connection.makefile("rb") as source:
        if connection.selected_alpn_protocol() != "h2":
            while line := source.readline():
                if line == b"\r\n":
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            return
        # The client's preface (RFC 9113 section 3.4).
        source.read(24)
        chaos = Chaos(connection, number)
        resets = 0
        connection.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", MAX_CONCURRENT_STREAMS, streams)))
        while len(head := source.read(9)) == 9:
            length, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
            stream = int.from_bytes(head[5:]) & 0x7FFFFFFF
            payload = source.read(length)
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                connection.sendall(frame(PING, ACK, 0, payload))
            elif behaviour == "complain" and kind == RST_STREAM:
                resets += 1
                if resets > RESETS:
                    goodbyes.write(f"{number}\n")
                    connection.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", stream, ENHANCE_YOUR_CALM)))
                    return
            elif behaviour == "goodbye" and kind == PING:
                goodbyes.write(f"{number}\n")
            elif behaviour == "chaos":
                chaos.take(kind, flags, stream, payload)
            elif kind == HEADERS and behaviour == "doh":
                answer(connection, stream, payload)
            elif kind == HEADERS:
                behave(behaviour, connection, stream)


def main() -> None:
    folder, certificate, key, streams, *behaviours = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    with open(f"{folder}/port.new", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(f"{folder}/port.new", f"{folder}/port")
    with (
        open(f"{folder}/connections", "w", buffering=1) as log,
        open(f"{folder}/goodbyes", "w", buffering=1) as goodbyes,
    ):
        number = 0
        while True:
            connection, _ = listener.accept()
            behaviour = behaviours[min(number, len(behaviours) - 1)]
            number += 1
            log.write(f"{behaviour}\n")
            # A client that breaks the connection while something is sent on it ends this thread only.
            threading.excepthook = lambda _: None
            arguments = (connection, context, int(streams), behaviour, number, goodbyes)
            threading.Thread(target=serve, args=arguments, daemon=True).start()


main()
