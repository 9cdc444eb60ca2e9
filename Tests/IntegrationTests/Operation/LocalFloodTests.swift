import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// One program of this machine that floods the server, and another one beside it.
    @Suite(.requires(.otherUser))
    struct LocalFloodTests {
        /// New names below many domains, a thousand a second, from one socket.
        private static let flood = """
            import itertools, socket, struct, sys, time
            client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            begin = time.monotonic()
            for number in itertools.count():
                name = b"".join(bytes([len(label)]) + label for label in (b"www", b"n%d" % number, b"example"))
                client.sendto(
                    struct.pack(">6H", number & 0xffff, 0x100, 1, 0, 0, 0) + name + b"\\0\\0\\1\\0\\1",
                    ("127.0.0.1", int(sys.argv[1])))
                if number == 3000: print("full", flush=True)
                time.sleep(max(0, begin + number / 1000 - time.monotonic()))
            """

        /// Where the server has to choose among them.
        enum Choice: String, CaseIterable {
            /// The queries to LocalDNS of a server with little memory are all under way, for names that no server answers.
            case fullQueue = "memory = \"32MiB\""
            /// The misses of a client are limited.
            case brake = "misses_per_second = 100"
        }

        private let zone = FakeZone(["*": .init(a: ["192.0.2.1"], ttl: 60)])
        /// Its address is that of a server that answers nothing.
        private let silent: TestDNSClient

        init() throws { silent = try TestDNSClient(TestAddress("127.0.0.1", port: 9)) }

        /// A server that asks a silent one for the flood's names, or whose misses are limited.
        private func daemon(
            _ choice: Choice, vendor: FakeHTTPDNS, localDNS: FakeLocalDNS, control: String, wrapper: [String] = []
        ) throws -> Daemon {
            let forward = choice == .fullQueue ? ["example": silent.localAddress] : [:]
            return try Daemon(
                DaemonConfiguration.aliyun(choice == .brake ? vendor.url : "http://127.0.0.1:9")
                    + DaemonConfiguration.route(forward: forward)
                    + DaemonConfiguration.rest(
                        localDNS: localDNS.address, log: "info\"\nqueries = true\n#", control: control)
                    + "[limits]\n\(choice.rawValue)\n",
                wrapper: wrapper)
        }

        private func flooder(of daemon: Daemon, wrapper: [String] = []) throws -> ChildProcess {
            try ChildProcess(
                wrapper + [
                    "setpriv", "--reuid=65534", "--clear-groups", "python3", "-c", Self.flood, "\(daemon.address.port)",
                ])
        }

        @Test(arguments: Choice.allCases)
        func `another user's new names are all answered, and status and the log name the one that floods`(
            choice: Choice
        ) throws {
            let (vendor, localDNS) = (try FakeHTTPDNS(zone), try FakeLocalDNS(zone))
            let directory = try TemporaryDirectory()
            let socket = directory.path + "/control.sock"
            let daemon = try daemon(choice, vendor: vendor, localDNS: localDNS, control: socket)
            let flooder = try flooder(of: daemon)
            #expect(flooder.waitForOutput(.patience) { output, _ in output.contains("full") })
            // Fewer than a burst, and few below each domain.
            let names = (0..<300).map { TestMessage.Question("www.cold-\($0).com") }
            // So few at a time that half of the places do for both families.
            let lookups = try BulkClient(daemon.address, window: 4).ask(names)
            #expect(lookups.count { $0.reply?.addresses != ["192.0.2.1"] } == 0, "\(choice)")
            #expect(daemon.errors.contains("127.0.0.1 (user 65534"))
            #expect(!daemon.errors.contains("www.cold-0.com A SERVFAIL"))
            if choice == .fullQueue {
                #expect(try Daemon.run(["status", "--socket", socket]).output.contains("of user 65534"))
            } else {
                #expect(daemon.errors.contains("user 65534 of this machine"))
            }
            #expect(flooder.isRunning)
        }

        @Test(.requires(.networkNamespaces)) func `status names the unit of the program that floods`() throws {
            let (vendor, localDNS) = (try FakeHTTPDNS(zone), try FakeLocalDNS(zone))
            let directory = try TemporaryDirectory()
            let socket = directory.path + "/control.sock"
            // As where systemd runs: there the one hierarchy of control groups is at this place.
            let mount = "mount -t cgroup2 none /sys/fs/cgroup"
            let daemon = try daemon(
                .fullQueue, vendor: vendor, localDNS: localDNS, control: socket,
                wrapper: ["unshare", "--mount", "sh", "-c", "\(mount) && exec \"$@\"", "sh"])
            let unit = "flood-\(daemon.pid).service"
            let group = "/sys/fs/cgroup/\(unit)"
            let inUnit = "\(mount) && mkdir \(group) && echo $$ > \(group)/cgroup.procs && exec \"$@\""
            let flooder = try flooder(of: daemon, wrapper: ["unshare", "--mount", "sh", "-c", inUnit, "sh"])
            defer {
                flooder.signal(SIGKILL)
                _ = try? flooder.finish(within: .patience)
                _ = try? ChildProcess.succeed(["unshare", "--mount", "sh", "-c", "\(mount) && rmdir \(group)"])
            }
            #expect(flooder.waitForOutput(.patience) { output, _ in output.contains("full") })
            #expect(try Daemon.run(["status", "--socket", socket]).output.contains("of user 65534 (\(unit))"))
        }
    }
}
