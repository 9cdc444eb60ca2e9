#!/usr/bin/env python3
"""An HTTPS server of one document that does what a server should not, for tests; HTTP/1.1.

  document.py FOLDER CERTIFICATE KEY

Listens on 127.0.0.1, and writes its port to FOLDER/port. FOLDER/document is what it serves at every path but these;
FOLDER/other what it serves where it should serve nothing:

  /endless        a body without an end, in chunks
  /long           a whole body of 4 MiB and 1 byte
  /short          half of the document, and the end
  /surplus        more than the length says, which ends within the document
  /page           a page for people, as of a captive portal
  /http, /file    a redirect to FOLDER/target, and to FOLDER/other as a file
  /partial        206 with the other document
  /bomb           64 MiB of spaces, compressed by gzip to 64 KiB
  /header         a header of many fields, 8 MiB
  /text           the other document without a header
  /tag            the document, with an entity tag of 8 KiB and one that holds an escape character
"""

import pathlib
import socket
import ssl
import sys
import threading
import zlib

FOLDER = pathlib.Path(sys.argv[1])
SPACES = b" " * 65_536


def response(body: bytes, *fields: str, status: str = "200 OK", length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*fields: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *fields]).encode() + b"\r\n\r\n"


def bomb() -> bytes:
    compressor = zlib.compressobj(9, wbits=31)
    return b"".join(compressor.compress(SPACES) for _ in range(1_024)) + compressor.flush()


def repeat(connection: ssl.SSLSocket, start: bytes, part: bytes) -> None:
    connection.sendall(start)
    while True:
        connection.sendall(part)


def answer(connection: ssl.SSLSocket, path: str) -> None:
    document, other = (FOLDER / "document").read_bytes(), (FOLDER / "other").read_bytes()
    chunk = b"10000\r\n" + SPACES + b"\r\n"
    field = b"x-field: " + b"a" * 1_000 + b"\r\n"
    match path:
        case "/endless":
            repeat(connection, chunked(), chunk)
        case "/long":
            connection.sendall(response(b" " * ((4 << 20) + 1)))
        case "/short":
            connection.sendall(response(document[: len(document) // 2], length=len(document)))
            connection.shutdown(socket.SHUT_RDWR)
        case "/surplus":
            connection.sendall(response(document + other, length=len(document) - 1))
        case "/page":
            connection.sendall(response(b"<!DOCTYPE html><title>Log in</title>", "Content-Type: text/html"))
        case "/http" | "/file":
            target = (FOLDER / "target").read_text()
            place = target if path == "/http" else f"file://{FOLDER}/other"
            connection.sendall(response(b"", f"Location: {place}", status="302 Found"))
        case "/partial":
            fields = f"Content-Range: bytes 0-{len(other) - 1}/{len(other)}"
            connection.sendall(response(other, fields, status="206 Partial Content"))
        case "/bomb":
            connection.sendall(response(bomb(), "Content-Encoding: gzip"))
        case "/header":
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + field * 8_192)
        case "/text":
            connection.sendall(other)
            connection.shutdown(socket.SHUT_RDWR)
        case "/tag":
            connection.sendall(response(document, 'ETag: "' + "a" * 8_192 + '"', 'ETag: "\x1b[31m"'))
        case _:
            connection.sendall(response(document))


def serve(plain: socket.socket, context: ssl.SSLContext) -> None:
    try:
        with context.wrap_socket(plain, server_side=True) as connection, connection.makefile("rb") as source:
            while line := source.readline():
                while source.readline() not in (b"\r\n", b""):
                    pass
                answer(connection, line.split()[1].decode())
    except OSError:
        # The client has left.
        pass


def main() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        (FOLDER / "port.new").write_text(str(listener.getsockname()[1]))
        (FOLDER / "port.new").rename(FOLDER / "port")
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0], context), daemon=True).start()


main()
