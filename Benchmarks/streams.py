"""A client that has many questions answered at once over one connection: DNS over TLS, or over HTTPS with HTTP/2."""

import base64
import json
import resource
import socket
import ssl
import struct
import subprocess

import support

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Types and flags of frames (RFC 9113 section 6).
DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
END_STREAM, END_HEADERS = 1, 4
# Idle connections that are opened at a time.
OPENING = 64


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class StreamClient:
    """One connection; it asks for one name."""

    def __init__(self, port: int, speaks_http: bool, name: str):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2" if speaks_http else "dot"])
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30))
        self.speaks_http, self.stream, self.received = speaks_http, 1, b""
        message = support.question(name, support.TYPE_A)
        self.message = struct.pack(">H", len(message)) + message
        target = b"/dns-query?dns=" + base64.urlsafe_b64encode(message).rstrip(b"=")
        # GET, https, and two literals that no table holds (RFC 7541, appendix A).
        authority = b"127.0.0.1"
        self.fields = b"\x82\x87\x04" + bytes([len(target)]) + target + b"\x01" + bytes([len(authority)]) + authority
        if speaks_http:
            window = struct.pack(">I", (1 << 31) - 1 - 65_535)
            self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, window))

    def send(self, count: int) -> None:
        """Sends so many questions in one piece."""
        if not self.speaks_http:
            return self.socket.sendall(self.message * count)
        streams = range(self.stream, self.stream + 2 * count, 2)
        self.stream = streams.stop
        self.socket.sendall(b"".join(frame(HEADERS, END_STREAM | END_HEADERS, each, self.fields) for each in streams))

    def receive(self, count: int) -> None:
        """Waits for so many answers."""
        while count > 0:
            taken = self._take_frame() if self.speaks_http else self._take_message()
            if taken is None:
                received = self.socket.recv(65_536)
                if not received:
                    raise support.Failure("the server has closed the connection")
                self.received += received
            elif taken:
                count -= 1

    def _take_message(self) -> bool | None:
        """Whether the next message is an answer; None when it is not whole."""
        end = 2 + int.from_bytes(self.received[:2], "big")
        if len(self.received) < max(3, end):
            return None
        message, self.received = self.received[2:end], self.received[end:]
        if not support.has_answer(message):
            raise support.Failure("a query that should be a hit got no answer")
        return True

    def _take_frame(self) -> bool | None:
        """Whether the next frame is an answer; None when it is not whole."""
        end = 9 + int.from_bytes(self.received[:3], "big")
        if len(self.received) < end:
            return None
        kind, flags, payload = self.received[3], self.received[4], self.received[9:end]
        self.received = self.received[end:]
        if kind == DATA and not support.has_answer(payload) or kind == HEADERS and flags & END_STREAM:
            raise support.Failure("a query that should be a hit got no answer")
        return kind == DATA

    def close(self) -> None:
        self.socket.close()


def allow_many() -> None:
    """Lets this process and its servers have as many descriptors as they may, for idle connections at both their ends."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def idle_memory(server: support.Process, clients: list[str], count: int) -> float:
    """KiB of anonymous memory that one of so many connections takes, each with one question before.

    `clients` is `Tools/tlsclients.c` with port and protocol."""
    # What the first connections have the server load is not theirs.
    subprocess.run([*clients, "full", "1", "32"], check=True, capture_output=True, timeout=90)
    before = server.resident_bytes("RssAnon")
    command = [*clients, "hold", str(count), str(OPENING)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # It ends within 60 s in any case.
    said = json.loads(holder.stdout.readline() or "{}")
    grown = server.resident_bytes("RssAnon") - before
    holder.communicate()
    if said.get("answered") != count or said["closed"]:
        raise support.Failure(f"it does not hold {count} connections: {said}")
    return grown / count / 1024
