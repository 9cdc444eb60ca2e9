import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// The same queries for 3,000 drawn names to this server and to Unbound, which have the same records: what a client
    /// sees must be the same, except for what `Difference` names.
    @Suite(.requires(.networkNamespaces))
    struct BesideUnboundTests {
        /// Where this server has its answers from. Unbound asks the resolver of `forwarder`.
        enum Source: CaseIterable { case forwarder, doh }

        /// A way in which the responses of the two may differ.
        enum Difference: CaseIterable {
            /// What a truncated response holds: a client throws it away (RFC 2181 section 9), but for one without TCP,
            /// which has no EDNS either. Here such a client gets whole records, any other one none
            /// (`Documentation/Decisions/0009-cut-replies.md`); Unbound gives whole sets of records.
            case truncatedContent
            /// RD: here the query's (RFC 1035 section 4.1.1); Unbound sets it when it answers from its cache.
            case recursionDesired
            /// Without RD Unbound gives what its cache has, else SERVFAIL or a referral. Here such a query is answered like
            /// any other: this server is authoritative for nothing, so there is nowhere to refer a client to (RFC 1034
            /// section 4.3.1), and what is cached is nothing for others to find out.
            case withoutRecursion
            /// Type ANY: here the addresses (RFC 8482 section 4.1); Unbound passes the question on.
            case any
            /// Types that no record has (RFC 6895 section 3.1): here NOTIMP, but 128 to 248 are passed on, of which none
            /// is assigned; at Unbound FORMERR, but 0 is passed on. Both refuse zone transfers. Unbound clears RA in such
            /// responses, though it does offer recursion.
            case metaTypes
            /// Names of special use: Unbound serves zones of its own, with AA, NS and SOA as it likes. Here there are no
            /// zones, so AA is clear; RFC 6761 section 6 and RFC 6303 section 3 ask for the answer alone.
            case specialUse
            /// The topmost of these names: those below which nothing exists do not exist themselves here (RFC 6761 section
            /// 6.4, RFC 7686 section 2); `local` does (RFC 6762 section 22.1 asks for no delegation), which Unbound 1.17
            /// passes on; those of the network LocalDNS decides about.
            case apex

            /// The parts in which it lets two responses differ.
            func parts(_ pair: Pair) -> Set<ComparedResponse.Part> {
                let (ours, unbounds) = (pair.ours.message, pair.unbounds.message)
                let question = pair.query.questions[0]
                switch self {
                case .truncatedContent: return ours.isTruncated && unbounds.isTruncated ? [.answers, .denial] : []
                case .recursionDesired:
                    return !pair.query.recursionDesired && !ours.recursionDesired ? [.recursionDesired] : []
                case .withoutRecursion:
                    let isReferral = unbounds.authorities.contains { $0.type == RecordType.ns }
                    return !pair.query.recursionDesired && unbounds.answers.isEmpty
                        && (isReferral || unbounds.rcode == ResponseCode.servFail)
                        ? [.rcode, .answers, .denial, .truncation] : []
                case .any: return question.type == RecordType.any ? [.answers, .denial] : []
                case .metaTypes:
                    guard BesideUnboundTests.metaTypes.contains(question.type) else { return [] }
                    let isRefused = unbounds.rcode == ResponseCode.refused
                    return isRefused ? [.flags] : [.flags, .rcode, .denial]
                case .specialUse:
                    guard BesideUnboundTests.specialNames.contains(question.name) else { return [] }
                    let isZoneData = question.type == RecordType.soa || question.type == RecordType.ns
                    var parts: Set<ComparedResponse.Part> = isZoneData ? [.denial, .answers] : [.denial]
                    if pair.ours.flags ^ pair.unbounds.flags == 0x0400 { parts.insert(.flags) }
                    return parts
                case .apex:
                    let names = ["invalid", "onion", "local", "home.arpa", "10.in-addr.arpa", "16.172.in-addr.arpa"]
                    return names.contains(question.name) ? [.rcode] : []
                }
            }
        }

        /// Both servers' responses to a query.
        struct Pair {
            let query: TestMessage
            let transport: BulkClient.Transport
            let ours: ComparedResponse
            let unbounds: ComparedResponse

            /// The longest response over this transport, in bytes. Both servers send 1,232 at most over UDP.
            var limit: Int {
                transport == .tcp ? 65_535 : min(1_232, max(512, Int(query.edns?.size ?? 512)))
            }
        }

        private static let names = 3_000
        /// Few enough for the buffers of the client's socket.
        private static let window = 16

        /// Types that no record has, but for ANY.
        static let metaTypes: [UInt16] = [0, 41, 128, 249, 250, RecordType.ixfr, RecordType.axfr, 253, 254]

        /// Names of special use.
        static let specialNames = [
            "localhost", "a.localhost", "test", "a.test", "invalid", "a.invalid", "onion", "a.onion", "local",
            "a.local",
            "a.alt", "home.arpa", "a.home.arpa", "10.in-addr.arpa", "4.3.2.10.in-addr.arpa", "16.172.in-addr.arpa",
            "a.168.192.in-addr.arpa", "1.0.0.127.in-addr.arpa", "2.0.0.127.in-addr.arpa", "1.2.0.192.in-addr.arpa",
            "1" + String(repeating: ".0", count: 31) + ".ip6.arpa", "a.d.f.ip6.arpa",
        ]

        /// Queries of no ordinary client: types that no record or hardly any has, a later version of EDNS, flags and options that
        /// mean nothing here, names of special use, a single label.
        private static let oddQueries: [TestMessage] = {
            let types: [UInt16] = metaTypes + [RecordType.any, 10, 43, 46, 47, 48, 100]
            let specialTypes = [
                RecordType.a, RecordType.aaaa, RecordType.soa, RecordType.ns, RecordType.ptr, RecordType.txt,
            ]
            return types.map { .query("www" + DrawnZone.end, $0, edns: EDNS()) }
                + [1, 255].map { .query("www" + DrawnZone.end, edns: EDNS(version: $0)) }
                // As ISC's genreport asks: AA, RA and the reserved flag, and options that are not for this server.
                + [0x0400, 0x0080, 0x0040].map { .query("www" + DrawnZone.end, flags: 0x0100 | $0, edns: EDNS()) }
                + [0, 1].flatMap { version in
                    genreportOptions.map { .query("www" + DrawnZone.end, edns: EDNS(version: version, options: [$0])) }
                }
                + (specialNames + ["example", "a.example"]).flatMap { name in
                    specialTypes.map { .query(name, $0, edns: EDNS()) }
                }
        }()

        /// NSID, client subnet, EXPIRE, and one that is assigned to nothing.
        private static let genreportOptions: [EDNS.Option] = [.init(3), .init(8, [0, 1, 0, 0]), .init(9), .init(100)]

        private let host: ClientHost
        private let zone: FakeZone
        private let queries: [TestMessage]
        private let localDNS: FakeLocalDNS
        private let unbound: ResolverProgram

        init() throws {
            var drawn = DrawnZone(names: Self.names, seed: 26)
            drawn.zone.entries["www" + DrawnZone.end] = .init(a: ["192.0.2.1"], aaaa: ["2001:db8::1"])
            let (zone, host) = (drawn.zone, try ClientHost())
            // A third of the questions twice: the second time the answer is cached.
            let queries = drawn.queries()
            let repeated = drawn.again(queries.indices.filter { $0 % 3 == $0 / 3 % 3 }.map { queries[$0] })
            self.queries = queries + repeated + Self.oddQueries
            self.zone = zone
            self.host = host
            localDNS = try host.namespace.inside { try FakeLocalDNS(zone) }
            localDNS.behave(.bounded)
            unbound = try .unbound(
                on: host, upstream: localDNS.address,
                // Without the first it refuses queries without RD; the second is what this server sends at most.
                options: "access-control: 127.0.0.0/8 allow_snoop\nmax-udp-size: 1232\nedns-buffer-size: 1232")
        }

        /// UDP; each eighth query goes over TCP.
        private func transport(_ index: Int) -> BulkClient.Transport { index % 8 == 3 ? .tcp : .udp }

        private func ask(_ server: TestAddress) throws -> [ComparedResponse?] {
            let groups = Dictionary(grouping: queries.indices, by: transport)
            var responses: [ComparedResponse?] = Array(repeating: nil, count: queries.count)
            for (transport, indices) in groups {
                for (index, response) in zip(indices, try ask(server, indices.map { queries[$0] }, over: transport)) {
                    responses[index] = response
                }
            }
            return responses
        }

        private func ask(
            _ server: TestAddress, _ queries: [TestMessage], over transport: BulkClient.Transport
        ) throws -> [ComparedResponse?] {
            try BulkClient(server, over: transport, window: Self.window, namespace: host.namespace).send(queries)
                .map { $0.reply.map(ComparedResponse.init) }
        }

        private func daemon(_ source: Source) throws -> (Daemon, FakeHTTPDNS) {
            let vendor = try host.namespace.inside { try FakeHTTPDNS(zone) }
            let tables =
                switch source {
                case .forwarder:
                    DaemonConfiguration.route(mode: "localdns-only")
                        + DaemonConfiguration.rest(localDNS: localDNS.address, log: "warning")
                case .doh:
                    // Otherwise HTTPS records of protected names lose their hints.
                    DaemonConfiguration.doh(vendor.url) + "[answers]\nhttps_records = \"forward\"\n"
                        + DaemonConfiguration.rest(localDNS: localDNS.address, log: "warning")
                }
            // So that a busy machine does not make an answer stale.
            return (
                try Daemon(tables + "[cache.stale]\nmax = \"0s\"\n", port: 53, namespace: host.namespace), vendor
            )
        }

        @Test func `what a client sees is what Unbound says, but for differences with a reason`() throws {
            var (unbounds, met) = (try ask(unbound.address), Set<Difference>())
            for source in Source.allCases {
                var failures: [String] = []
                // On a machine that stalls sources are late, which is no difference: then again, with an empty cache here.
                for _ in 1...3 {
                    let (daemon, vendor) = try daemon(source)
                    let before = localDNS.questionCount()
                    failures = compare(try ask(daemon.address), unbounds, source, &met)
                    let names = localDNS.questions.dropFirst(before).map { $0.name.lowercased() }
                    if source == .doh, let name = names.first(where: { $0.hasSuffix(DrawnZone.end) }) {
                        failures.append("LocalDNS was asked for \(name)")
                    }
                    withExtendedLifetime((daemon, vendor)) {}
                    if failures.isEmpty { break }
                    unbounds = try ask(unbound.address)
                }
                #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(20).joined(separator: "\n"))")
            }
            // A difference that there is no more has no place above.
            #expect(met == Set(Difference.allCases))
        }

        /// Prints how many responses differ in which way. Returns what differs in no way that has a reason.
        private func compare(
            _ ours: [ComparedResponse?], _ unbounds: [ComparedResponse?], _ source: Source, _ met: inout Set<Difference>
        ) -> [String] {
            var counts: [Difference: Int] = [:]
            var failures: [String] = []
            for (index, query) in queries.enumerated() {
                guard let ours = ours[index], let unbounds = unbounds[index] else {
                    failures.append("\(describe(index)): no response of \(ours[index] == nil ? "ours" : "Unbound")")
                    continue
                }
                let pair = Pair(query: query, transport: transport(index), ours: ours, unbounds: unbounds)
                let origin = index < queries.count - Self.oddQueries.count ? zone : nil
                var faults = ours.faults(query, origin, limit: pair.limit, least: 1).map { "ours: " + $0 }
                if ours.message.recursionDesired != query.recursionDesired {
                    faults.append("ours: RD is not the query's")
                }
                // In its last second a record has TTL 0 at Unbound.
                faults += unbounds.faults(query, origin, limit: pair.limit, least: 0).map { "Unbound: " + $0 }
                var parts = ours.differences(from: unbounds)
                for difference in Difference.allCases where !parts.isDisjoint(with: difference.parts(pair)) {
                    counts[difference, default: 0] += 1
                    parts.subtract(difference.parts(pair))
                }
                if !parts.isEmpty {
                    faults.append("\(parts): \(ours.summary(beside: unbounds)) | \(unbounds.summary(beside: ours))")
                }
                if !faults.isEmpty { failures.append("\(describe(index)): \(faults.joined(separator: "; "))") }
            }
            let figures = Difference.allCases.map { "\(counts[$0] ?? 0) \($0)" }.joined(separator: ", ")
            print("beside Unbound, \(source): \(queries.count) queries, \(figures), \(failures.count) failures")
            met.formUnion(counts.keys)
            return failures
        }

        private func describe(_ index: Int) -> String {
            let query = queries[index]
            return "\(query.questions[0].name) \(query.questions[0].type) over \(transport(index)), flags "
                + "\(String(query.flags, radix: 16)), \(query.edns.map { "EDNS \($0.size) \($0.flags)" } ?? "no EDNS")"
        }
    }
}
