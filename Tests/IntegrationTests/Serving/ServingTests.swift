import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Addresses, sizes and access: UDP as clients see it, and start-up.
    @Suite(.serialized)
    struct ServingTests {
        @Test(arguments: ["+notcp", "+tcp"])
        func `dig gets its answer through HTTPDNS`(transport: String) throws {
            let stage = try Stage()
            let dig = try stage.daemon.dig("www.example.com", "A", transport)
            #expect(dig.status == "NOERROR")
            #expect(dig.addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(dig.flags == ["qr", "rd", "ra"])
            #expect(dig.transport == (transport == "+tcp" ? "TCP" : "UDP"))
            #expect(stage.vendor.callCount("www.example.com") == 1)
        }

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
        }

        @Test(arguments: ["127.0.0.1", "127.9.8.7"])
        func `on a wildcard bind the reply comes from the very address asked`(host: String) throws {
            let stage = try Stage(on: ["0.0.0.0"])
            let server = TestAddress(host, port: stage.daemon.address.port)
            // `ask` refuses a reply from another address. The first one comes from upstream, the second from the cache.
            for source in ["127.1.2.3", "127.3.2.1"] {
                let reply = try TestDNSClient(server, from: source).ask("www.example.com")
                #expect(reply.addresses == ["192.0.2.1", "192.0.2.2"])
            }
            #expect(try TestTCPClient(server).ask(.query("www.example.com")).addresses.count == 2)
        }

        @Test(.requires(.ipv6))
        func `on an IPv6 wildcard bind the reply comes from the very address asked`() throws {
            let stage = try Stage(on: ["::"])
            let client = try TestDNSClient(TestAddress("::1", port: stage.daemon.address.port))
            #expect(try client.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
        }

        @Test func `without EDNS an answer over 512 bytes is cut to the records that fit`() throws {
            let stage = try Stage(.aliyun, .large("big.example.com", count: 40))
            let client = try stage.daemon.client()
            for _ in ["from upstream", "from the cache"] {
                let query = TestMessage.query("big.example.com")
                try client.send(query)
                let reply = try client.receive()
                #expect(reply.message.isTruncated)
                #expect(reply.message.rcode == ResponseCode.noError)
                // Header and question, then as many records of 16 bytes as fit.
                #expect(reply.message.addresses == (1...29).map { "192.0.2.\($0)" })
                #expect(reply.bytes.count == query.encoded.count + 29 * 16)
            }
        }

        @Test func `an answer that fits the client's EDNS size is not cut`() throws {
            let stage = try Stage(.aliyun, .large("big.example.com", count: 60))
            let reply = try stage.daemon.client().ask("big.example.com", edns: EDNS(size: 1_232))
            #expect(!reply.isTruncated)
            #expect(reply.addresses.count == 60)
        }

        @Test(arguments: [UInt16(1_232), 4_096])
        func `an answer over 1232 bytes is cut to header, question and OPT`(size: UInt16) throws {
            let stage = try Stage(.aliyun, .large("huge.example.com", count: 120))
            let client = try stage.daemon.client()
            for _ in ["from upstream", "from the cache"] {
                let reply = try client.ask("huge.example.com", edns: EDNS(size: size))
                #expect(reply.isTruncated)
                #expect(reply.answers.isEmpty && reply.authorities.isEmpty)
                #expect(reply.edns != nil)
            }
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `dig asks a cut answer again over TCP and gets all of it`() throws {
            let stage = try Stage(.aliyun, .large("huge.example.com", count: 120))
            let dig = try stage.daemon.dig("huge.example.com")
            #expect(dig.wasTruncated)
            #expect(dig.transport == "TCP")
            #expect(dig.addresses.count == 120)
        }

        @Test(arguments: [UInt16(0), 100, 511])
        func `an EDNS size under 512 means 512`(size: UInt16) throws {
            let stage = try Stage(.aliyun, .large("big.example.com", count: 25))
            let reply = try stage.daemon.client().ask("big.example.com", edns: EDNS(size: size))
            #expect(!reply.isTruncated)
            #expect(reply.addresses.count == 25)
        }

        @Test func `the OPT record of a reply names 1232 bytes and has no options`() throws {
            let reply = try Stage().ask("www.example.com")
            #expect(reply.edns == EDNS(size: 1_232))
        }

        @Test func `a client that is not allowed is refused, also where the answer is in the cache`() throws {
            let stage = try Stage(listen: #"allow = ["127.0.0.1/32"]"#)
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            for name in ["www.example.com", "four.example.com"] {
                let reply = try stage.daemon.client(from: "127.0.0.2").ask(name)
                #expect(reply.rcode == ResponseCode.refused)
                #expect(reply.extendedErrors == [18])
                #expect(reply.answers.isEmpty)
            }
            #expect(stage.vendor.callCount("four.example.com") == 0)
        }

        @Test func `a second daemon on the port says so and exits 1`() throws {
            let stage = try Stage()
            let second = try Daemon.run(["serve", "--config", stage.daemon.configurationFile])
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

        @Test func `at a stop, cached names are answered as long as a question hangs`() throws {
            let stage = try Stage()
            #expect(try stage.ask("four.example.com").addresses == ["192.0.2.4"])
            stage.vendor.misbehave(.hang)
            stage.localDNS.behave(.silent)
            let (slow, client) = (try stage.daemon.client(), try stage.daemon.client())
            try slow.send(.query("www.example.com"))
            #expect(stage.vendor.waitForCalls(1, for: "www.example.com"))
            stage.daemon.signal(SIGTERM)
            #expect(stage.daemon.waitForLog { $0.contains("stopping") })
            var (answered, isOver) = (0, false)
            while !isOver {
                try client.send(.query("four.example.com"))
                var reply: TestDNSClient.Reply?
                // Once the last question is answered the daemon ends, and may answer no other.
                while reply == nil, !isOver {
                    reply = try client.receiveIfAny(within: .milliseconds(10))
                    isOver = try slow.receiveIfAny(within: .zero) != nil || !stage.daemon.isRunning
                }
                guard let reply else { break }
                #expect(reply.message.addresses == ["192.0.2.4"])
                answered += 1
            }
            #expect(answered > 0)
            #expect(try stage.daemon.finish().status == 0)
        }

        @Test func `several UDP threads answer as one`() throws {
            let stage = try Stage(listen: "udp_threads = 4")
            let clients = try (1...40).map { try stage.daemon.client(from: "127.0.1.\($0)") }
            for client in clients { #expect(try client.ask("www.example.com").addresses.count == 2) }
            #expect(stage.vendor.callCount() == 1)
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

        @Test func `idle TCP clients leave descriptors for the sources, and no other client is shut out`() throws {
            let (vendor, localDNS) = (
                try FakeHTTPDNS(Stage.zone), try FakeLocalDNS(FakeZone(["*": .init(a: ["192.0.2.9"])]))
            )
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.route(bypass: ["local.example"])
                    + DaemonConfiguration.rest(localDNS: localDNS.address),
                wrapper: ["prlimit", "--nofile=128:128"])
            #expect(
                daemon.waitForLog {
                    $0.contains("only 128 descriptors may be open, so clients may have 32 TCP connections")
                })
            var connections: [TestTCPClient] = []
            for _ in 1...120 { connections.append(try TestTCPClient(daemon.address, from: "127.0.2.1")) }
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            for number in 0..<20 {
                #expect(try daemon.client().ask("n\(number).local.example").addresses == ["192.0.2.9"])
            }
            #expect(daemon.waitForLog { $0.contains("32 TCP connections are open: 32 from 127.0.2.1") })
            #expect(try daemon.dig("four.example.com", "A", "+tcp").addresses.count == 1)
            withExtendedLifetime(connections) {}
        }
    }
}
