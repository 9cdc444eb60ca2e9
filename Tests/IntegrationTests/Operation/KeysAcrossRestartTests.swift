import Configuration
import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Whether an answer on disk, which was made without a key, stands against the key after a restart.
    @Suite struct KeysAcrossRestartTests {
        private typealias Key = KeyAcrossRestart

        private let directory: TemporaryDirectory
        private let vendor: FakeHTTPDNS
        private let otherVendor: FakeHTTPDNS
        private let localDNS: FakeLocalDNS
        private let otherLocalDNS: FakeLocalDNS
        private let service: FakeDoH

        init() throws {
            directory = try TemporaryDirectory()
            (vendor, otherVendor) = (try FakeHTTPDNS(FakeZone()), try FakeHTTPDNS(Self.zone(Key.new[0])))
            (localDNS, otherLocalDNS) = (try FakeLocalDNS(), try FakeLocalDNS(Self.zone(Key.new[1])))
            service = try FakeDoH(ttl: 3_600)
        }

        private static func zone(_ address: String) -> FakeZone {
            FakeZone([
                "*": .init(a: [address], others: [65: [[0, 1, 0]]], ttl: 3_600),
                "private.example.com": .init(a: ["10.0.0.1"], ttl: 3_600),
            ])
        }

        /// Keys that no answer on disk can contradict: whole tables, and keys about which it says why.
        private static let others = [
            "listen.", "account[].", "cache.", "policy.", "control.", "http.", "limits.", "log.",
            // How the service is asked, and for how much.
            "provider[].secret", "provider[].secret_file", "provider[].encryption_key", "provider[].daily_limit",
            "provider[].monthly_limit", "provider[].hedge", "provider[].timeout", "localdns.timeout",
            // Used where nothing else is left; asked for at the start; the order alone.
            "preset.last_resort", "preset.preresolve", "answers.rotate",
        ]

        /// A name that is on disk whatever becomes of the key's.
        private static let primer = "primer.example"

        private static func quotedList(_ text: String) -> String { "[\"\(text)\"]" }
        private static func quoted(_ text: String) -> String { "\"\(text)\"" }

        private var base: [String: String] {
            [
                "provider[].type": "\"aliyun\"", "provider[].account": Self.quoted(DaemonConfiguration.account),
                "provider[].url": Self.quoted(vendor.url),
                "localdns.servers": DaemonConfiguration.list(["\(localDNS.address)"]),
                "localdns.certificate_check": "\"off\"", "control.socket": "\"\"",
                "route.bypass": Self.quotedList(Self.primer),
                "cache.disk.path": Self.quoted(directory.path + "/state/cache.sqlite"),
            ]
        }

        /// Nothing answers but LocalDNS.
        private static let dead: [String: String?] = ["provider[].url": "\"http://127.0.0.1:9\""]

        private func keys() throws -> [Key] {
            let table = service.table()
            let stranger = try TestCertificates()
            let authority = table.split(separator: "\n").first { $0.hasPrefix("ca_file") }.map(String.init) ?? ""
            let other = table.replacingOccurrences(of: authority, with: "ca_file = \"\(stranger.authority)\"")
            let hosts = try directory.write("203.0.113.7 www.example.com\n", to: "hosts")
            let example = "[\"example.com\"]"
            let elsewhere = "[\"other.example\"]"
            let (server, otherServer) = (
                DaemonConfiguration.list(["\(localDNS.address)"]),
                DaemonConfiguration.list(["\(otherLocalDNS.address)"])
            )
            let doh: [String: String?] = [
                "provider[].account": nil, "provider[].url": Self.quoted(vendor.url + "/dns-query"),
            ]
            var keys = [
                Key(path: "provider[].type", both: doh, before: "\"doh\"", after: "\"doh-json\""),
                Key(path: "provider[].name", after: "\"other\""),
                Key(path: "provider[].account", before: "\"139450\"", after: "\"139451\""),
                Key(path: "provider[].access_key_id", after: "\"LTAI4example\""),
                Key(
                    path: "provider[].encryption",
                    both: [
                        "provider[].type": "\"aliyun-v2\"", "provider[].secret": "\"0123456789abcdef0123456789abcdef\"",
                        "provider[].encryption_key": "\"00112233445566778899aabbccddeeff\"",
                    ], before: "\"none\"", after: "\"cbc\""),
                Key(path: "provider[].region", after: "\"hk\""),
                Key(path: "provider[].url", before: Self.quoted(vendor.url), after: Self.quoted(otherVendor.url)),
                Key(path: "provider[].addresses", after: DaemonConfiguration.list(["\(otherVendor.address)"])),
                Key(
                    path: "provider[].startup_addresses", both: ["provider[].url": "\"https://127.0.0.1:9\""],
                    after: "[\"127.0.0.2\"]"),
                Key(path: "provider[].tls_names", providers: (table, table + "tls_names = [\"wrong.example\"]\n")),
                Key(path: "provider[].ca_file", providers: (table, other)),
                Key(path: "provider[].pin", providers: (table, table + "pin = [\"\(Self.wrongPin)\"]\n")),
                Key(path: "provider[].names", after: elsewhere),
                Key(path: "provider[].client_subnet", after: "\"192.0.2.0/24\""),
                Key(path: "route.mode", after: "\"localdns-only\""), Key(path: "route.protect", after: elsewhere),
                Key(path: "route.bypass", before: Self.quotedList(Self.primer), after: example),
                Key(path: "route.network_names", after: example),
                Key(
                    path: "forward[].suffixes", both: ["forward[].servers": otherServer], before: elsewhere,
                    after: example),
                Key(
                    path: "forward[].servers", both: ["forward[].suffixes": example], before: server,
                    after: otherServer),
                Key(path: "localdns.servers", both: ["route.bypass": example], before: server, after: otherServer),
                Key(path: "localdns.max_ttl", both: ["route.bypass": example], after: "\"30s\""),
                Key(
                    path: "localdns.certificate_check", both: Self.dead, before: "\"off\"", after: "\"strict\"",
                    expects: { $0.addresses.isEmpty }),
                Key(path: "localdns.certificate_ports", both: Self.dead, after: "[8443]"),
                Key(
                    path: "localdns.unverified",
                    both: Self.dead.merging(["localdns.certificate_check": "\"strict\""]) { $1 }, after: example),
                Key(
                    path: "answers.https_records", before: "\"protect\"", after: "\"forward\"", type: 65,
                    expects: { $0.answers.count == 1 }),
                Key(
                    path: "answers.bogus", after: "[\"192.0.2.0/24\"]", expects: { !$0.addresses.contains(Key.old[0]) }),
                Key(
                    path: "answers.private_addresses", after: "\"drop\"", name: "private.example.com",
                    expects: { $0.addresses.isEmpty }),
                Key(
                    path: "answers.private_names", both: ["answers.private_addresses": "\"drop\""], after: example,
                    name: "private.example.com", expects: { $0.addresses == ["10.0.0.1"] }),
                Key(
                    path: "answers.dns64", before: "\"off\"", after: "\"64:ff9b::/96\"", type: TestRecordType.aaaa,
                    expects: { $0.addresses == ["64:ff9b::c000:202"] }),
                Key(path: "answers.prefer", after: "\"ipv6-only\"", expects: { $0.addresses.isEmpty }),
                Key(
                    path: "answers.hide_canary", before: "false", after: "true", name: "use-application-dns.net",
                    expects: { $0.rcode == ResponseCode.nxDomain }),
                Key(
                    path: "preset.always", after: "{ \"www.example.com\" = [\"203.0.113.5\"] }",
                    expects: { $0.addresses == ["203.0.113.5"] }),
                Key(path: "preset.hosts_file", after: Self.quoted(hosts), expects: { $0.addresses == ["203.0.113.7"] }),
            ]
            keys.append(try resolvConf())
            return keys
        }

        private static let wrongPin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

        /// Of a list of resolvers that nothing else but the file has; they are at port 53.
        private func resolvConf() throws -> Key {
            let files = try [1, 2].map { try directory.write("nameserver 127.0.53.\($0)\n", to: "resolv-\($0)") }
            return Key(
                path: "localdns.resolv_conf",
                both: ["localdns.servers": "\"auto\"", "route.bypass": "[\"example.com\"]"],
                before: Self.quoted(files[0]), after: Self.quoted(files[1]))
        }

        /// Asks one process, which then ends, and the next.
        private func answers(_ key: Key) throws -> [TestMessage] {
            for kind in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: directory.path + "/state/cache.sqlite" + kind)
            }
            return try [false, true].map { isAfter in
                let number = isAfter ? 1 : 0
                vendor.zone = Self.zone([Key.old, Key.new][number][0])
                localDNS.zone = Self.zone([Key.old, Key.new][number][1])
                let daemon = try Daemon(key.text(base, isAfter: isAfter))
                defer { _ = try? daemon.stop() }
                // The file is read while clients are served already.
                _ = try daemon.client().ask(Self.primer)
                let isRead = isAfter ? daemon.waitForLog { $0.contains("of the last time from disk") } : true
                #expect(isRead, "\(key.path)")
                return try daemon.client().ask(key.name, key.type)
            }
        }

        @Test func `every key of the schema that shapes answers is played, and the others are named`() throws {
            let played = try Set(keys().map(\.path))
            for key in SchemaKey.all where !played.contains(key.path) {
                #expect(
                    !key.shapesAnswers
                        && Self.others.contains { $0.hasSuffix(".") ? key.path.hasPrefix($0) : key.path == $0 },
                    "\(key.path) shapes answers, or nothing says why not: play it across a restart")
            }
            #expect(played.isSubset(of: SchemaKey.all.map(\.path)))
        }

        @Test func `without a change what is on disk is answered`() throws {
            let answers = try answers(Key(path: "provider[].account", before: "\"139450\"", after: "\"139450\""))
            #expect(answers.map(\.addresses) == [[Key.old[0]], [Key.old[0]]])
        }

        @Test func `after a restart the answer follows each key, whatever is on disk`() throws {
            let hasResolvers = Requirement.privilegedPorts.isMet && Requirement.noSystemResolverLists.isMet
            let resolvers =
                try hasResolvers
                ? zip(1...2, [Key.old[1], Key.new[1]]).map {
                    try FakeLocalDNS(Self.zone($1), host: "127.0.53.\($0)", port: 53)
                } : []
            for key in try keys() where hasResolvers || key.path != "localdns.resolv_conf" {
                let answers = try answers(key)
                #expect(!key.expects(answers[0]), "\(key.path), before: \(answers[0])")
                #expect(key.expects(answers[1]), "\(key.path), after: \(answers[1])")
            }
            withExtendedLifetime(resolvers) {}
        }
    }
}
