"""Holds a connection of DNS over TLS open: writes `answered`, then `ended` once the server has ended it with close_notify.

live.py PORT AUTHORITY-FILE
"""

import socket
import ssl
import struct
import sys

QUERY = struct.pack("!6H", 1, 0x100, 1, 0, 0, 0) + b"\x06cached\x07example\x03com\0" + struct.pack("!2H", 1, 1)

context = ssl.create_default_context(cafile=sys.argv[2])
plain = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
# Without close_notify the end is an exception: what came before it may have been cut.
with context.wrap_socket(plain, server_hostname="dns.example", suppress_ragged_eofs=False) as connection:
    connection.sendall(struct.pack("!H", len(QUERY)) + QUERY)
    if connection.recv(2):
        print("answered", flush=True)
    while connection.recv(4096):
        pass
    print("ended", flush=True)
