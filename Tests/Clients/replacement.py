"""Plays one of the two processes of `serve --replace`, up to a step.

replacement.py next SOCKET STEP: the new process. It takes the sockets and ends (`sockets`), or says `prepared`, waits until the
file of the cache is closed and ends (`prepared`), or says nothing until the server gives it up, and then that it serves
(`silent`): it writes `refused` where that is not taken. With `wait` it takes the sockets and stays.

replacement.py old SOCKET STEP: the server. It writes `listening`, passes no socket to the process that connects, waits until that is
prepared and ends (`dies`), ends the matter with a reason (`fails`), or writes `prepared` and what is said next (`holds`).
"""

import array
import os
import socket
import sys
import time

ROLE, PATH, STEP = sys.argv[1:]


def word(end: socket.socket) -> bytes:
    """The next word; what is passed before it is closed."""
    while True:
        text, ancillary, _, _ = end.recvmsg(4096, socket.CMSG_SPACE(250 * 4))
        for _, _, data in ancillary:
            for number in array.array("i", data[: len(data) // 4 * 4]):
                os.close(number)
        if not text or text.startswith(b"REPLACE="):
            return text


end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if ROLE == "next":
    end.connect(PATH)
    assert word(end) == b"REPLACE=sockets"
    if STEP == "wait":
        print("waiting", flush=True)
        time.sleep(600)
    if STEP == "prepared":
        end.send(b"REPLACE=prepared")
        assert word(end) == b"REPLACE=file-closed"
    if STEP == "silent":
        print(word(end).decode(), flush=True)
        try:
            end.send(b"REPLACE=serving")
        except OSError:
            print("refused", flush=True)
else:
    end.bind(PATH)
    end.listen()
    print("listening", flush=True)
    other, _ = end.accept()
    other.send(b"REPLACE=sockets")
    assert word(other) == b"REPLACE=prepared"
    if STEP == "fails":
        other.send(b"REPLACE=failed\nREASON=for a test")
    if STEP == "holds":
        print("prepared", flush=True)
        print(word(other).decode(), flush=True)
