import TestServers
import TestSupport
import Testing

extension Integration {
    /// Every stub resolver in every way in which its traffic differs, against names that bite.
    ///
    /// What programs do with the addresses is in `LabTests`, failing families in `GetaddrinfoTests`.
    @Suite(.requires(.networkNamespaces))
    struct StubMatrixTests {
        /// A response that says all in exactly so many bytes: of a name whose length, and the number of whose addresses,
        /// make it so.
        struct Size {
            let bytes: Int
            /// Whether it has an OPT record.
            let hasOPT: Bool

            static let all = [512, 513, 1_232, 1_233, 4_096, 4_097].flatMap { bytes in
                [true, false].map { Size(bytes: bytes, hasOPT: $0) }
            }

            /// What is left for name and addresses: without the header, the type and class, the OPT record.
            private var room: Int { bytes - 12 - 4 - (hasOPT ? 11 : 0) }
            /// Of 16 bytes each; the name takes 32 to 47 bytes.
            private var count: Int { (room - 32) / 16 }

            var addresses: [String] { StubMatrixTests.addresses(count) }

            var name: String {
                let end = ".example.com"
                let start = "size-\(bytes)-\(hasOPT ? "opt" : "plain")-"
                // The wire form has two more bytes than the text.
                return start + String(repeating: "x", count: room - count * 16 - 2 - start.count - end.count) + end
            }

        }

        /// `count` addresses.
        private static func addresses(_ count: Int) -> [String] {
            (0..<count).map { "198.51.\(100 + $0 / 250).\($0 % 250 + 1)" }
        }

        private static let noData = "nothing.example.com"
        private static let noName = "none.example.com"

        static let zone: FakeZone = {
            var zone = FakeZone([
                "www.example.com": .init(a: ["192.0.2.1", "192.0.2.2"], aaaa: ["2001:db8::1"]),
                "four.example.com": .init(a: ["192.0.2.4"]),
                "six.example.com": .init(aaaa: ["2001:db8::6"]),
                "large.example.com": .init(a: addresses(200), aaaa: (1...200).map { "2001:db8::\($0)" }),
                noData: .init(others: [TestRecordType.txt: [[1, 0x78]]]),
                "chain0.example.com": .init(a: ["192.0.2.8"], aaaa: ["2001:db8::8"]),
            ])
            for step in 1...8 {
                zone.entries["chain\(step).example.com"] = .init(alias: "chain\(step - 1).example.com")
            }
            for size in Size.all { zone.entries[size.name] = .init(a: size.addresses) }
            return zone
        }()

        static let names =
            zone.entries.keys.filter { !$0.hasPrefix("chain") }.sorted() + [
                "chain8.example.com", noName,
            ]

        /// What must be found: the addresses, or one error.
        private func expected(_ name: String, _ stub: StubResolver, _ way: StubResolver.Way) -> Set<String> {
            guard let entry = Self.zone.entry(name) else { return [stub.errors.noName] }
            let target = entry.alias == nil ? entry : Self.zone.entry("chain0.example.com") ?? entry
            let addresses = Set(target.a + (way.asksForIPv4Only ? [] : target.aaaa))
            return addresses.isEmpty ? [stub.errors.noData] : addresses
        }

        @Test(arguments: StubResolver.allCases)
        func `a stub resolver finds exactly what is there`(stub: StubResolver) throws {
            let host = try ClientHost()
            // The first way meets misses, the others what is cached.
            let stage = try Stage(.doh, Self.zone, on: ["127.0.0.1", "::1"], inside: host)
            for way in stub.ways {
                let description = "\(stub) \(way.options.joined(separator: " "))\(way.resolvConf)"
                let rows = try stub.rows(Self.names, way, on: host)
                #expect(rows.map(\.name) == Self.names, "\(description)")
                for row in rows {
                    let expected = expected(row.name, stub, way)
                    if stub.mayTakePart, expected.count > 28 {
                        #expect(row.found.isSubset(of: expected) && row.found.count >= 28, "\(description) \(row)")
                    } else {
                        #expect(row.found == expected, "\(description) \(row.name) \(row.time)")
                    }
                }
            }
            withExtendedLifetime(stage) {}
        }

        @Test func `a name that is said to fill a response fills it to the byte`() throws {
            let host = try ClientHost()
            let stage = try Stage(.doh, Self.zone, inside: host)
            for size in Size.all {
                let dig = try Dig(
                    stage.daemon.address, size.name, "A", ["+tcp", "+nocookie", size.hasOPT ? "+edns=0" : "+noedns"],
                    namespace: host.namespace)
                #expect(Set(dig.addresses) == Set(size.addresses))
                #expect(dig.text.contains("MSG SIZE  rcvd: \(size.bytes)\n"), "\(dig.text.suffix(200))")
            }
        }
    }
}
