#!/usr/bin/env python3
"""An HTTP/2 server over TLS that misbehaves as it is told, for tests.

  http2.py FOLDER CERTIFICATE KEY STREAMS BEHAVIOUR...

Listens on 127.0.0.1, writes its port to FOLDER/port and a line for each connection to FOLDER/connections. STREAMS is the
number of requests that it says it takes at once. The first connection shows the first BEHAVIOUR, and so on; all further ones
show the last:

  answer        each request gets a reply at once
  slow          each request gets a reply after 100 ms, one after the other
  hang          no request gets a reply
  break         the first request ends the connection, without a word
  goodbye       with the first request the connection is said to end (GOAWAY); no reply comes
  refuse        each request is refused (RST_STREAM, REFUSED_STREAM)
  cut           half a reply, and the stream ends without an error (RST_STREAM, NO_ERROR)
  confuse       a frame on a stream that was never opened, which is an error of the connection; it stays open
"""

import os
import socket
import ssl
import struct
import sys
import threading
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4
MAX_CONCURRENT_STREAMS, NO_ERROR, REFUSED_STREAM = 3, 0, 7


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
    """Does with one request what the connection's behaviour is."""
    if behaviour == "answer":
        connection.sendall(reply(stream))
    elif behaviour == "slow":
        time.sleep(0.1)
        connection.sendall(reply(stream))
    elif behaviour == "break":
        connection.shutdown(socket.SHUT_RDWR)
    elif behaviour == "goodbye" and stream == 1:
        connection.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", stream, NO_ERROR)))
    elif behaviour == "refuse":
        connection.sendall(reset(stream, REFUSED_STREAM))
    elif behaviour == "cut":
        connection.sendall(header(stream) + frame(DATA, 0, stream, b"192.0.2.1;192.") + reset(stream, NO_ERROR))
    elif behaviour == "confuse":
        connection.sendall(frame(DATA, 0, stream + 100, b"x"))


def serve(plain: socket.socket, context: ssl.SSLContext, streams: int, behaviour: str) -> None:
    with context.wrap_socket(plain, server_side=True) as connection, connection.makefile("rb") as source:
        # The client's preface (RFC 9113 section 3.4).
        source.read(24)
        connection.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", MAX_CONCURRENT_STREAMS, streams)))
        while len(head := source.read(9)) == 9:
            length, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
            stream = int.from_bytes(head[5:]) & 0x7FFFFFFF
            payload = source.read(length)
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                connection.sendall(frame(PING, ACK, 0, payload))
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
    with open(f"{folder}/connections", "w", buffering=1) as log:
        number = 0
        while True:
            connection, _ = listener.accept()
            behaviour = behaviours[min(number, len(behaviours) - 1)]
            number += 1
            log.write(f"{behaviour}\n")
            # Whoever breaks the connection while something is sent there ends this thread only.
            threading.excepthook = lambda _: None
            threading.Thread(target=serve, args=(connection, context, int(streams), behaviour), daemon=True).start()


main()
