#!/usr/bin/env python3
"""The world of scripts/demo: a hijacked resolver, an HTTPDNS service, and two web sites. Python's own library only.

usage: demo-servers.py DIRECTORY

DIRECTORY holds NAME.pem and NAME.key of every certificate. Prints "ready" once all listen, and serves until killed.
"""

import http.server
import json
import socket
import socketserver
import ssl
import struct
import sys
import threading
import urllib.parse

SHOPS = ["shop.example.com", "blog.example.com"]
SITE = "192.0.2.10"
HIJACKERS_SITE = "203.0.113.66"
HIJACKED = ("127.0.0.53", 53)
HTTPDNS = "192.0.2.53"
A, AAAA = 1, 28


def forged(query):
    """The reply of a resolver that knows one address for every name there is."""
    identifier, flags, count = struct.unpack("!3H", query[:6])
    end = 12
    while query[end]:
        end += query[end] + 1
    end += 5
    (kind,) = struct.unpack("!H", query[end - 4 : end - 2])
    answer = b""
    if kind == A:
        answer = struct.pack("!3HIH", 0xC00C, A, 1, 60, 4) + socket.inet_aton(HIJACKERS_SITE)
    head = struct.pack("!6H", identifier, 0x8180 | flags & 0x0110, count, 1 if answer else 0, 0, 0)
    return head + query[12:end] + answer


class HijackedOverUDP(socketserver.BaseRequestHandler):
    def handle(self):
        query, sender = self.request
        sender.sendto(forged(query), self.client_address)


class HijackedOverTCP(socketserver.StreamRequestHandler):
    def handle(self):
        while len(length := self.rfile.read(2)) == 2:
            reply = forged(self.rfile.read(struct.unpack("!H", length)[0]))
            self.wfile.write(struct.pack("!H", len(reply)) + reply)


class Page(http.server.BaseHTTPRequestHandler):
    """Says at which host the visitor has arrived."""

    protocol_version = "HTTP/1.1"

    def body(self):
        return f"{self.headers['Host']}\n"

    def do_GET(self):
        body = self.body().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Service(Page):
    """Alibaba Cloud's HTTPDNS: GET /ACCOUNT/d?host=NAME&query=4,6."""

    def body(self):
        parameters = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        name = parameters["host"][0].lower()
        addresses = [SITE] if name in SHOPS else []
        return json.dumps({"host": name, "ips": addresses, "ipsv6": [], "ttl": 60, "origin_ttl": 60})


def context(directory, name):
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    result.load_cert_chain(f"{directory}/{name}.pem", f"{directory}/{name}.key")
    return result


def https(address, handler, default, by_name={}):
    """A web server that shows the certificate for the name asked for (SNI), or the default one."""

    def choose(connection, name, _):
        connection.context = by_name.get(name, default)

    default.sni_callback = choose
    server = http.server.ThreadingHTTPServer((address, 443), handler)
    server.socket = default.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


def main(directory):
    socketserver.TCPServer.allow_reuse_address = True
    shops = {name: context(directory, name) for name in SHOPS}
    servers = [
        socketserver.ThreadingUDPServer(HIJACKED, HijackedOverUDP),
        socketserver.ThreadingTCPServer(HIJACKED, HijackedOverTCP),
        https(HTTPDNS, Service, context(directory, "httpdns")),
        https(SITE, Page, shops[SHOPS[0]], shops),
        https(HIJACKERS_SITE, Page, context(directory, "hijacker")),
    ]
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
