import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Addresses, sizes and access: UDP as clients see it, and start-up.
    struct ServingTests {
        @Test(.requires(.processFiles)) func `without questions nothing wakes the daemon`() throws {
            let stage = try Stage()
            #expect(try stage.daemon.dig("www.example.com").addresses.count == 2)
            #expect(try stage.daemon.comesToRest(for: .seconds(20)))
        }

        @Test(.requires(.ipv6), arguments: ["+notcp", "+tcp"])
        func `dig gets its answer over IPv6`(transport: String) throws {
            let stage = try Stage(on: ["127.0.0.1", "::1"])
            let dig = try Dig(stage.daemon.addresses[1], "www.example.com", "AAAA", [transport])
            #expect(dig.addresses == ["2001:db8::1"])
            #expect(try stage.daemon.dig("www.example.com").addresses.count == 2)
            #expect(!stage.daemon.errors.contains("IPv4 only"))
        }

        @Test func `a second daemon on the port says so and exits 1`() throws {
            let stage = try Stage()
            let second = try stage.daemon.run("serve")
            #expect(second.status == 1)
            #expect(second.errors.contains("\(stage.daemon.address)"))
            #expect(second.errors.lowercased().contains("in use"))
            // The first is not affected: no datagram was delivered to the second.
            #expect(try stage.ask("www.example.com").addresses.count == 2)
        }

        @Test(.requires(.otherUser), .requires(.networkNamespaces))
        func `without leave for port 53 one line says what to do`() throws {
            // A new namespace has the usual lowest unprivileged port, whatever the machine's is; /tmp is readable by
            // all users.
            let namespace = try NetworkNamespace()
            let directory = try TemporaryDirectory()
            let executable = directory.path + "/httpdnsd"
            try FileManager.default.copyItem(atPath: Daemon.executable, toPath: executable)
            let text =
                Daemon.listenTable([TestAddress("127.0.0.1", port: 53)])
                + DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest()
            let file = try directory.write(text, to: "httpdnsd.toml")
            let outcome = try ChildProcess.run(
                namespace.prefix + [
                    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", executable, "serve", "--config",
                    file,
                ])
            #expect(outcome.status == 1)
            let line = try #require(outcome.errors.split(separator: "\n").first { $0.contains("127.0.0.1:53") })
            #expect(line.lowercased().contains("permission") || line.lowercased().contains("not permitted"))
            #expect(line.contains("CAP_NET_BIND_SERVICE") || line.contains("setcap"))
        }

        @Test func `where netlink is refused it says so once, and serves`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            // The C library, too, uses netlink to get the machine's addresses, which a wildcard stands for.
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest(), on: ["0.0.0.0"],
                wrapper: ["python3", "-c", Self.withoutNetlink])
            let address = TestAddress("127.0.0.1", port: daemon.address.port)
            #expect(try TestDNSClient(address).ask("www.example.com").addresses.count == 2)
            #expect(try TestTCPClient(address).ask(.query("four.example.com")).addresses == ["192.0.2.4"])
            daemon.signal(SIGHUP)
            #expect(daemon.waitForLog { $0.contains("reload") })
            #expect(try daemon.stop() == 0)
            let lines = daemon.errors.split(separator: "\n").filter { $0.contains("netlink") }
            #expect(lines.count == 1, "\(daemon.errors)")
            #expect(lines.first?.contains("go unnoticed; a reload takes them in") == true)
        }

        /// A program that runs its arguments where the kernel refuses netlink sockets, as for a service whose
        /// `RestrictAddressFamilies` does not list them.
        private static let withoutNetlink = """
            import ctypes, os, platform, struct, sys
            socket = {"x86_64": 41, "aarch64": 198}[platform.machine()]
            program = b"".join(struct.pack("HBBI", *line) for line in [
                (0x20, 0, 0, 0), (0x15, 0, 3, socket),         # another system call: allowed
                (0x20, 0, 0, 16), (0x15, 0, 1, 16),            # another family than AF_NETLINK: allowed
                (0x06, 0, 0, 0x50000 | 97), (0x06, 0, 0, 0x7fff0000)])
            class Program(ctypes.Structure):
                _fields_ = [("count", ctypes.c_ushort), ("lines", ctypes.c_char_p)]
            prctl = ctypes.CDLL(None).prctl
            assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, ctypes.byref(Program(6, program))) == 0
            os.execvp(sys.argv[1], sys.argv[1:])
            """
    }
}
