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


def start_peers(
    stage: support.Stage, floor: int, cpus: str, memory: str = "256m", names: list[str] | None = None
) -> list[support.Process]:
    """Starts those that are installed, or of these only `names`; memory: the size of each of Unbound's two caches."""
    started = []
    for name, text, command in PEERS:
        if names is not None and name not in names or not shutil.which(command[0]):
            continue
        port = support.free_port()
        file = stage.write(f"{name}.conf", text.format(port=port, floor=floor, memory=memory))
        peer = stage.start(name, [word.format(file=file) for word in command], port, cpus)
        peer.wait_until_ready()
        started.append(peer)
    return started
