"""Prints a row for each name as getaddrinfo.c does with -r, through Python's socket.getaddrinfo."""

import socket
import sys
import time

ERRORS = {socket.EAI_NODATA: "EAI_NODATA", socket.EAI_NONAME: "EAI_NONAME"}

for name in sys.argv[1:]:
    start = time.monotonic()
    try:
        found = [entry[4][0] for entry in socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM)]
    except socket.gaierror as error:
        found = [ERRORS.get(error.errno, str(error.errno))]
    print(name, *found, round((time.monotonic() - start) * 1000))
