"""Holds handshakes of TLS half done: each is begun, and never goes on. One that the server ends is begun again.

half.py PORT COUNT: writes `held` once all of them have the server's half.
"""

import selectors
import socket
import ssl
import sys

PORT, COUNT = int(sys.argv[1]), int(sys.argv[2])


def client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


HELLO = client_hello()
waiting = selectors.DefaultSelector()


def begin() -> None:
    client = socket.socket()
    client.bind(("127.0.0.9", 0))
    client.connect(("127.0.0.1", PORT))
    client.sendall(HELLO)
    client.setblocking(False)
    waiting.register(client, selectors.EVENT_READ, [])


for _ in range(COUNT):
    begin()
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
