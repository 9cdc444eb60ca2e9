"""Holds handshakes of TLS half done: each is begun, and never goes on. One that the server ends is begun again.

half.py PORT COUNT [hello | half | long] [CURVE]: writes `held` once all of them are as far as they go. `hello`, the default: they
have the server's half; `half`: they have sent a part of their ClientHello; `long`: the same, of one that claims to have
128 KiB. CURVE is the only one that they offer for the exchange of keys.
"""

import selectors
import socket
import ssl
import sys
import time

PORT, COUNT = int(sys.argv[1]), int(sys.argv[2])
KIND = sys.argv[3] if len(sys.argv) > 3 else "hello"
CURVE = sys.argv[4] if len(sys.argv) > 4 else None


def client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if CURVE:
        context.set_ecdh_curve(CURVE)
    outgoing = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


HELLO = client_hello()
SENT = {
    "hello": HELLO,
    "half": HELLO[: len(HELLO) // 2],
    "long": b"\x16\x03\x01\x40\x00\x01\x01\xff\xff" + HELLO[9:] + bytes(2000),
}[KIND]
waiting = selectors.DefaultSelector()


def begin() -> None:
    client = socket.socket()
    client.bind(("127.0.0.9", 0))
    client.connect(("127.0.0.1", PORT))
    client.sendall(SENT)
    client.setblocking(False)
    waiting.register(client, selectors.EVENT_READ, [])


for _ in range(COUNT):
    begin()
if KIND != "hello":
    time.sleep(1)
    print("held", flush=True)
answered = 0
while True:
    for key, _ in waiting.select():
        try:
            part = key.fileobj.recv(65536)
        except OSError:
            part = b""
        if not part:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
            begin()
        elif not key.data:
            key.data.append(True)
            answered += 1
            if answered == COUNT:
                print("held", flush=True)
