"""Code shared by the benchmarks: building the C tools, starting servers on loopback, asking them, reading their usage.

Standard library only. Nothing but 127.0.0.1 is ever addressed.
"""

import contextlib
import itertools
import os
import platform
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
RELEASE = [
    *["swift", "build", "-c", "release", "--static-swift-stdlib"],
    *(["--scratch-path", os.environ["HTTPDNSD_RELEASE_PATH"]] if "HTTPDNSD_RELEASE_PATH" in os.environ else []),
    "--product",
]

# nginx and the peers are in folders that are not in the PATH of an unprivileged user.
os.environ["PATH"] += ":/usr/sbin:/sbin"

TYPE_A = 1
TYPE_AAAA = 28

# The names that all benchmarks ask for; %d is a number.
PATTERN = "host%d.bench.example"


class Failure(Exception):
    """A benchmark cannot be run; the text gives the reason."""


def release_executable(product: str = "httpdnsd") -> str:
    """The path of a product's release build; it must have been built."""
    command = [*RELEASE, product]
    folder = subprocess.run([*command, "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    path = os.path.join(folder.strip(), product)
    if not os.access(path, os.X_OK):
        raise Failure(f"{path} is missing; build it: {' '.join(command)}")
    return path


def build_tool(name: str, *libraries: str, flags: tuple[str, ...] = ()) -> str:
    """Compiles Tools/NAME.c unless that was done since it changed; returns the executable's path."""
    folder = os.path.join(ROOT, ".build-benchmarks")
    os.makedirs(folder, exist_ok=True)
    source, path = os.path.join(HERE, "Tools", name + ".c"), os.path.join(folder, name)
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(source):
        command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", *flags, "-o", path, source]
        subprocess.run([*command, *(f"-l{library}" for library in libraries)], check=True)
    return path


def machine() -> str:
    """The machine and the version that were measured."""
    with open("/proc/cpuinfo") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()

    # Only the server's sources: documents and benchmarks do not matter.
    sources = ["Sources", "Package.swift", "Package.resolved"]
    revision = git("log", "-1", "--format=%h", "--", *sources)
    if git("status", "--porcelain", "--", *sources):
        revision += " with changes"
    model = models[0] if models else platform.machine()
    kernel = platform.release().partition("-")[0]
    return f"{len(models)} x {model}, Linux {kernel}, revision {revision}"


# Below the range from which the kernel takes source ports: so no socket takes one before its server binds it.
PORTS = itertools.cycle(random.sample(range(12_000, 32_000), 20_000))


def free_port() -> int:
    """A port that is free on 127.0.0.1 over UDP and TCP, and was not given before."""
    while True:
        port = next(PORTS)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            with contextlib.suppress(OSError):
                udp.bind(("127.0.0.1", port))
                tcp.bind(("127.0.0.1", port))
                return port


def question(name: str, record_type: int, edns: bool = True, identifier: int = 0) -> bytes:
    """A query message for `name`."""
    header = struct.pack(">HHHHHH", identifier, 0x0100, 1, 0, 0, int(edns))
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    opt = bytes([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]) if edns else b""
    return header + labels + b"\0" + struct.pack(">HH", record_type, 1) + opt


def has_answer(reply: bytes) -> bool:
    """Whether a reply says NOERROR and has at least one record in its answer section."""
    return len(reply) >= 12 and reply[3] & 15 == 0 and reply[6:8] != b"\0\0"


class Client:
    """A UDP socket that asks one server."""

    def __init__(self, port: int, timeout: float = 5):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(timeout)

    def ask(self, name: str, record_type: int) -> None:
        """Asks once and waits; the reply must be an answer."""
        self.socket.send(question(name, record_type))
        reply = self.socket.recv(4096)
        if not has_answer(reply):
            raise Failure(f"no answer for {name}: {reply.hex()}")

    def close(self) -> None:
        self.socket.close()


class Process:
    """A server that was started: its process ID, its port, and its usage so far."""

    def __init__(self, popen: subprocess.Popen, name: str, port: int, log: str):
        self.popen, self.name, self.port, self.log = popen, name, port, log
        self.pid = popen.pid
        # The ports of its encrypted listeners, if it has any.
        self.tls = self.https = 0

    def tail(self) -> str:
        """The end of its output."""
        with open(self.log, errors="replace") as file:
            return file.read()[-2000:]

    def wait_until_ready(self, record_type: int = TYPE_A, timeout: float = 30) -> None:
        """Returns once it answers a query."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.popen.poll() is not None:
                raise Failure(f"{self.name} ended at once:\n{self.tail()}")
            client = Client(self.port, timeout=0.5)
            try:
                return client.ask(PATTERN % 0, record_type)
            except (OSError, Failure):
                time.sleep(0.05)
            finally:
                client.close()
        raise Failure(f"{self.name} does not answer on port {self.port}:\n{self.tail()}")

    def wait_until_accepting(self, timeout: float = 30) -> None:
        """Returns once it takes connections over TCP."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self.popen.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise Failure(f"{self.name} does not start:\n{self.tail()}")

    def threads(self) -> dict[int, str]:
        """The ids of its threads and their names."""
        result = {}
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/comm") as file:
                result[int(thread)] = file.read().strip()
        return result

    def udp_threads(self) -> list[int]:
        """The ids of an httpdnsd's threads that answer UDP."""
        return [thread for thread, name in self.threads().items() if name.startswith("udp-")]

    def cpu_nanoseconds(self, threads: list[int] | None = None) -> int:
        """CPU time, user and system, of these threads or of all existing ones."""
        total = 0
        for thread in self.threads() if threads is None else threads:
            with open(f"/proc/{self.pid}/task/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
        return total

    def wait_until_idle(self, timeout: float = 120) -> None:
        """Returns once it uses almost no CPU time: remaining work, such as writing to the disk, is then done."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            before = self.cpu_nanoseconds()
            # Longer than httpdnsd waits before it writes.
            time.sleep(1.5)
            if self.cpu_nanoseconds() - before < 5_000_000:
                return
        raise Failure(f"{self.name} is busy without queries")

    def resident_bytes(self, kind: str = "VmRSS") -> int:
        """Its resident memory, including pages of files; `RssAnon` excludes them."""
        with open(f"/proc/{self.pid}/status") as file:
            line = next(line for line in file if line.startswith(f"{kind}:"))
        return int(line.split()[1]) << 10

    def descriptor_count(self) -> int:
        """The number of its open descriptors."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def log_lines(self) -> int:
        """The number of lines that it has written."""
        with open(self.log, errors="replace") as file:
            return sum(1 for _ in file)

    def stop(self) -> None:
        """Ends it with SIGTERM, and with SIGKILL if that takes longer than 10 s."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
            try:
                self.popen.wait(10)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()


class Stage:
    """A temporary folder and the servers that use it; all are ended with it."""

    def __enter__(self) -> "Stage":
        self.folder = tempfile.mkdtemp(prefix="httpdnsd-benchmark-")
        # nginx's worker may run as another user.
        os.chmod(self.folder, 0o755)
        self.processes: list[Process] = []
        # Whether every server has a cache on disk.
        self.has_disk = False
        # The number of suffixes in every server's routing lists, unless `configuration` is given another one.
        self.suffixes = 0
        self.sockets: list[socket.socket] = []
        return self

    def __exit__(self, *_) -> None:
        for process in reversed(self.processes):
            process.stop()
        for held in self.sockets:
            held.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name: str, text: str) -> str:
        """Writes a file of that name into the folder and returns its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def make_certificate(self, host: str) -> None:
        """Writes ca.pem, and site.pem with site.key for this name and 127.0.0.1, into the folder."""

        def openssl(*words: str) -> None:
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True, text=True)

        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        constraint = ["-addext", "basicConstraints=critical,CA:TRUE"]
        subject = ["-days", "30", "-subj", "/CN=bench"]
        openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", *subject, *constraint)
        openssl("req", *key, "-keyout", "site.key", "-out", "site.csr", "-subj", f"/CN={host}")
        self.write("extensions", f"subjectAltName=DNS:{host},IP:127.0.0.1\n")
        authority = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
        openssl("x509", "-req", "-in", "site.csr", *authority, "-days", "30", "-out", "site.pem", "-extfile", "extensions")

    def encrypted_listeners(self) -> tuple[str, int, int]:
        """Lines for `[listen]` with the folder's site.pem, and the ports of DNS over TLS and over HTTPS."""
        tls, https = free_port(), free_port()
        text = f'tls = ["127.0.0.1:{tls}"]\nhttps = ["127.0.0.1:{https}"]\n'
        text += f'certificate = "{self.folder}/site.pem"\nkey = "{self.folder}/site.key"\n'
        return text, tls, https

    def start(self, name: str, command: list[str], port: int = 0, cpus: str | None = None) -> Process:
        """Starts a command, on these CPUs only if given (as `taskset -c` has them)."""
        log = os.path.join(self.folder, f"{name}-{len(self.processes)}.log")
        pinned = ["taskset", "-c", cpus, *command] if cpus else command
        with open(log, "w") as output:
            popen = subprocess.Popen(
                pinned, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        process = Process(popen, name, port, log)
        self.processes.append(process)
        return process

    def stop(self, process: Process) -> None:
        """Ends one of the servers."""
        process.stop()
        self.processes.remove(process)

    def start_service(self, cpus: str | None = None, certificate: str | None = None) -> int:
        """Starts nginx as an HTTPDNS service that answers every name; returns its port.

        certificate: over TLS and HTTP/2, with CERTIFICATE.pem and CERTIFICATE.key of the folder.
        """
        port = free_port()
        listen = f"127.0.0.1:{port}"
        if certificate:
            base = os.path.join(self.folder, certificate)
            listen += f" ssl http2; ssl_certificate {base}.pem; ssl_certificate_key {base}.key"
        with open(os.path.join(HERE, "httpdns.conf")) as file:
            text = file.read().replace("@folder@", self.folder).replace("@listen@", listen)
        log = os.path.join(self.folder, "nginx-error.log")
        nginx = self.start("nginx", ["nginx", "-c", self.write("nginx.conf", text), "-e", log], port, cpus)
        nginx.wait_until_accepting()
        return port

    def start_dead_service(self) -> int:
        """Opens a TCP and a UDP socket on one port that accept everything and never answer; returns the port."""
        port = free_port()
        listener = socket.socket()
        listener.bind(("127.0.0.1", port))
        listener.listen(4096)
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("127.0.0.1", port))
        self.sockets += [listener, receiver]
        return port

    def configuration(
        self, service: int, *, url: str | None = None, authority: str = "", threads: int = 1, memory: str = "64MiB",
        dead: int | None = None, disk: str = "", more: str = "", provider: str = "", suffixes: int | None = None,
        listen: str = "", localdns: int | None = None,
    ) -> tuple[str, int]:  # fmt: skip
        """Writes a configuration of httpdnsd; returns its path and the port it listens on.

        service: the port of `start_service`; url: its base if it is not plain HTTP, with the authority's certificate.
        dead: the port of `start_dead_service`, asked for names below dead.example.
        localdns: the port of LocalDNS; that of the dead service without, or none. disk: the file of the cache on disk;
        none without. more: further tables.
        listen: further lines of its table. provider: further lines of each provider's table. suffixes: how many the routing lists have, none of which is
        asked for; half of them in `protect`, where the providers' names are then too, half in `bypass`.
        """
        port = free_port()
        if self.has_disk and not disk:
            disk = f"{self.folder}/cache-{port}.sqlite"
        providers = [("bench", url or f"http://127.0.0.1:{service}", "bench.example")]
        if dead:
            providers.append(("dead", f"http://127.0.0.1:{dead}", "dead.example"))
        count = self.suffixes if suffixes is None else suffixes
        if count:
            protected = [suffix for _, _, suffix in providers] + short_suffixes(count // 2)
            bypassed = short_suffixes(count - count // 2, first=count // 2)
            more += f"[route]\nprotect={toml_list(protected)}\nbypass={toml_list(bypassed)}\n"
        text = f'[listen]\naddresses = ["127.0.0.1:{port}"]\nudp_threads = {threads}\n{listen}'
        for name, base, suffix in providers:
            text += f'[[provider]]\ntype = "aliyun"\nname = "{name}"\naccount = "139450"\nurl = "{base}"\n'
            text += f'addresses = ["127.0.0.1"]\nca_file = "{authority}"\nnames = ["{suffix}"]\n{provider}'
        text += f'[localdns]\nservers = ["127.0.0.1:{localdns or dead or 1}"]\n[cache]\nmemory = "{memory}"\nprefetch = false\n'
        text += f'[cache.disk]\npath = "{disk}"\n[control]\nsocket = ""\n[log]\nlevel = "info"\n{more}'
        return self.write(f"httpdnsd-{port}.toml", text), port


class Limits:
    """Figures beside those of the main branch, of which none may be more than 3 % higher."""

    ROOM = 1.03

    def __init__(self):
        self.rows: list[dict] = []

    def add(self, what: str, value: float, main: float, detail: str = "") -> None:
        self.rows.append({"what": what, "value": value, "main": main, "met": value <= main * self.ROOM, "detail": detail})

    @property
    def is_met(self) -> bool:
        return all(row["met"] for row in self.rows)

    def show(self) -> None:
        print("| what | value | main | difference |\n|---|---|---|---|")
        for row in self.rows:
            value, main = row["value"], row["main"]
            difference = f"{(value / main - 1) * 100:+.1f} %" if main else f"{value:+g}"
            verdict = "" if row["met"] else f" **more than 3 %** {row['detail']}"
            print(f"| {row['what']} | {value:g} | {main:g} | {difference}{verdict} |")


def drop_pages(path: str) -> None:
    """Makes the kernel drop a file's pages."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def short_suffixes(count: int, first: int = 0) -> list[str]:
    """Different suffixes of five characters: a configuration file may not be longer than 1 MiB."""
    return [f"{number:x}" for number in range(0x10000 + first, 0x10000 + first + count)]


def toml_list(texts: list[str]) -> str:
    """A TOML array of texts, without spaces."""
    return "[" + ",".join(f'"{text}"' for text in texts) + "]"


def serve(executable: str, configuration: str) -> list[str]:
    """The command that runs httpdnsd; without the sandbox, which would keep callgrind from writing what it has counted."""
    return [executable, "serve", "--no-sandbox", "--config", configuration]


def run(main) -> None:
    """Runs a benchmark's main function; a failure becomes one message and exit status 1."""
    # When it is ended by a signal it ends its servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {failure}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}\n{error.stderr or ''}")
