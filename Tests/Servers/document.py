#!/usr/bin/env python3
"""An HTTPS server of one document that does what a server should not, for tests; HTTP/1.1.

  document.py FOLDER CERTIFICATE KEY

Listens on 127.0.0.1, writes its port to FOLDER/port and each request's path to FOLDER/requests. FOLDER/document is what it
serves at every path but these; FOLDER/other what it serves where it should serve nothing:

  /endless        a body without an end, in chunks
  /unframed       a body without an end, until the connection's
  /claimed        a body of which its length says that it has 5 GiB
  /long           a whole body of 4 MiB and 1 byte
  /short          half of the document, and the end
  /surplus        more than the length says, which ends within the document
  /lengths        two lengths
  /empty          a body of no bytes
  /page           a page for people, as of a captive portal
  /http, /file, /self
                  a redirect to FOLDER/target, to FOLDER/other as a file, and to itself
  /partial        206 with the other document
  /bomb           64 MiB of spaces, compressed by gzip to 64 KiB
  /gzip           the other document, compressed
  /header         a header of many fields, 8 MiB
  /field          a field of 8 MiB
  /early          informational responses without an end
  /text           the other document without a header
  /tag            the document, with an entity tag of 8 KiB and one that holds an escape character
  /trailer        the document, with a trailer of 8 MiB behind it
  /extension      a chunk with an extension without an end
  /drip           a byte of the document each 100 ms
  /slow           a byte of a header each 100 ms
  /silent         nothing
"""

import gzip
import pathlib
import socket
import ssl
import sys
import threading
import time
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


def repeat(connection: ssl.SSLSocket, start: bytes, part: bytes, pause: float = 0) -> None:
    connection.sendall(start)
    while True:
        connection.sendall(part)
        time.sleep(pause)


def answer(connection: ssl.SSLSocket, path: str) -> None:
    document, other = (FOLDER / "document").read_bytes(), (FOLDER / "other").read_bytes()
    chunk = b"10000\r\n" + SPACES + b"\r\n"
    field = b"x-field: " + b"a" * 1_000 + b"\r\n"
    match path:
        case "/endless":
            repeat(connection, chunked(), chunk)
        case "/unframed":
            repeat(connection, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", SPACES)
        case "/claimed":
            repeat(connection, response(document, length=5 << 30), SPACES)
        case "/long":
            connection.sendall(response(b" " * ((4 << 20) + 1)))
        case "/short":
            connection.sendall(response(document[: len(document) // 2], length=len(document)))
            connection.shutdown(socket.SHUT_RDWR)
        case "/surplus":
            connection.sendall(response(document + other, length=len(document) - 1))
        case "/lengths":
            connection.sendall(response(other, f"Content-Length: {len(other) - 9}"))
        case "/empty":
            connection.sendall(response(b""))
        case "/page":
            connection.sendall(response(b"<!DOCTYPE html><title>Log in</title>", "Content-Type: text/html"))
        case "/http" | "/file" | "/self":
            target = (FOLDER / "target").read_text()
            place = {"/http": target, "/file": f"file://{FOLDER}/other", "/self": path}[path]
            connection.sendall(response(b"", f"Location: {place}", status="302 Found"))
        case "/partial":
            fields = f"Content-Range: bytes 0-{len(other) - 1}/{len(other)}"
            connection.sendall(response(other, fields, status="206 Partial Content"))
        case "/bomb":
            connection.sendall(response(bomb(), "Content-Encoding: gzip"))
        case "/gzip":
            connection.sendall(response(gzip.compress(other), "Content-Encoding: gzip"))
        case "/header":
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + field * 8_192)
        case "/field":
            connection.sendall(b"HTTP/1.1 200 OK\r\nx-field: " + b"a" * (8 << 20) + b"\r\n")
        case "/early":
            repeat(connection, b"", b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n" * 100)
        case "/text":
            connection.sendall(other)
            connection.shutdown(socket.SHUT_RDWR)
        case "/tag":
            connection.sendall(response(document, 'ETag: "' + "a" * 8_192 + '"', 'ETag: "\x1b[31m"'))
        case "/trailer":
            connection.sendall(chunked() + f"{len(document):x}\r\n".encode() + document + b"\r\n0\r\n" + field * 8_192)
        case "/extension":
            repeat(connection, chunked() + b"1;", b"a" * 65_536)
        case "/drip":
            connection.sendall(response(b"", length=len(document)))
            for byte in document:
                connection.sendall(bytes([byte]))
                time.sleep(0.1)
        case "/slow":
            repeat(connection, b"HTTP/1.1 200 OK\r\nx-field: ", b"a", 0.1)
        case "/silent":
            connection.recv(1)
        case _:
            connection.sendall(response(document))


def serve(plain: socket.socket, context: ssl.SSLContext) -> None:
    try:
        with context.wrap_socket(plain, server_side=True) as connection, connection.makefile("rb") as source:
            while line := source.readline():
                while source.readline() not in (b"\r\n", b""):
                    pass
                path = line.split()[1].decode()
                with (FOLDER / "requests").open("a") as requests:
                    requests.write(path + "\n")
                answer(connection, path)
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
