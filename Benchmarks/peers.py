"""Other DNS servers, set up to serve the same names from their caches: one thread, forwarding to the floor."""

import shutil

import support

UNBOUND = """server:
 interface: 127.0.0.1@{port}
 port: {port}
 num-threads: 1
 incoming-num-tcp: 256
 do-daemonize: no
 username: ""
 chroot: ""
 pidfile: ""
 use-syslog: no
 verbosity: 0
 module-config: "iterator"
 do-not-query-localhost: no
 local-zone: "example." nodefault
 msg-cache-size: {memory}
 rrset-cache-size: {memory}
 outgoing-range: 4096
 num-queries-per-thread: 4096
 so-rcvbuf: 4m
 so-sndbuf: 4m
forward-zone:
 name: "."
 forward-addr: 127.0.0.1@{floor}
remote-control:
 control-enable: no
"""

DNSDIST = """setLocal('127.0.0.1:{port}')
newServer({{address='127.0.0.1:{floor}', checkInterval=60}})
getServer(0):setUp()
getPool(''):setCache(newPacketCache(400000, {{maxTTL=86400}}))
setACL({{'127.0.0.0/8'}})
setSecurityPollSuffix('')
"""

# Name, configuration, command.
PEERS = [
    ("unbound", UNBOUND, ["unbound", "-d", "-c", "{file}"]),
    ("dnsdist", DNSDIST, ["dnsdist", "--supervised", "-C", "{file}"]),
    (
        "dnsmasq",
        "port={port}\nlisten-address=127.0.0.1\nbind-interfaces\nno-resolv\nno-hosts\nserver=127.0.0.1#{floor}\n"
        "cache-size=200000\ndns-forward-max=5000\nuser=\npid-file\n",
        ["dnsmasq", "--keep-in-foreground", "--conf-file={file}"],
    ),
]

# What the configuration of those that can has more, to serve over TLS and HTTPS. Unbound reserves three descriptors for
# each connection, of which 20,000 are a usual limit, and cuts its time-outs when half of its connections are in use.
ENCRYPTED = {
    "unbound": """server:
 interface: 127.0.0.1@{tls}
 interface: 127.0.0.1@{https}
 tls-port: {tls}
 https-port: {https}
 tls-service-pem: {folder}/site.pem
 tls-service-key: {folder}/site.key
 incoming-num-tcp: 6000
 outgoing-range: 256
 num-queries-per-thread: 128
 tcp-idle-timeout: 120000
""",
    "dnsdist": """certificate, key = '{folder}/site.pem', '{folder}/site.key'
addTLSLocal('127.0.0.1:{tls}', certificate, key, {{provider='openssl', maxInFlight=1000}})
addDOHLocal('127.0.0.1:{https}', certificate, key, '/dns-query', {{idleTimeout=120}})
setMaxTCPClientThreads(1)
setMaxTCPConnectionsPerClient(0)
setTCPRecvTimeout(120)
""",
}


def start_peers(
    stage: support.Stage, floor: int, cpus: str, memory: str = "256m", names: list[str] | None = None,
    is_encrypted: bool = False,
) -> list[support.Process]:  # fmt: skip
    """Starts those that are installed, or of these only `names`.

    floor: the port of what they forward to; memory: the size of each of Unbound's two caches.
    is_encrypted: with the ports `tls` and `https` too, and site.pem of the stage's folder.
    """
    started = []
    for name, text, command in PEERS:
        if names is not None and name not in names or not shutil.which(command[0]):
            continue
        port, tls, https = (support.free_port() for _ in range(3))
        if is_encrypted:
            text += ENCRYPTED[name]
        fields = {"port": port, "tls": tls, "https": https, "folder": stage.folder, "floor": floor, "memory": memory}
        file = stage.write(f"{name}.conf", text.format(**fields))
        peer = stage.start(name, [word.format(file=file) for word in command], port, cpus)
        peer.tls, peer.https = tls, https
        peer.wait_until_ready()
        started.append(peer)
    return started
