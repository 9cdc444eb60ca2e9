import TestServers
import TestSupport
import Testing

extension Integration {
    /// Every kind of failure of a provider, for one name or address or for all of them, at the first provider or at
    /// both: what a client may see of it, and how many calls it may cost.
    struct FaultMatrixTests {
        enum Fault: String, CaseIterable, Sendable {
            case refused, blackHole, resetMidBody, tlsFailure, slowDrip, garbage, status4xx, status5xx, empty, huge
            case wrongName, goAwayStorm, idleClose
        }

        /// What a fault affects at a provider.
        enum Reach: String, CaseIterable, Sendable {
            /// One name of several on a connection; for faults without a name, one address or connection.
            case one
            case all
        }

        /// Which of the two providers it affects.
        enum Place: String, CaseIterable, Sendable {
            case first, all
        }

        struct Cell: CustomTestStringConvertible, Sendable {
            let fault: Fault
            let reach: Reach
            let place: Place

            var testDescription: String { "\(fault), \(reach) of it, \(place) provider" }

            /// Each fault for one name at the first provider, and for all at both; with HTTPDNSD_THOROUGH in each other way, too.
            static let all = Fault.allCases.flatMap { fault in
                Reach.allCases.flatMap { reach in
                    Place.allCases.map { Cell(fault: fault, reach: reach, place: $0) }
                }
            }.filter { Integration.isThorough || ($0.reach == .one) == ($0.place == .first) }
        }

        /// Calls for one name that an affected provider may receive: a broken stream may mean the connection's end, so
        /// that the name is asked again. Any other provider receives one.
        private static let callLimit = 4
        /// Connections to a provider: one for each question, if they all end, and one for each of its first probes.
        private static let connectionLimit = 10

        private static let names = ["slow-struck", "slow-b", "slow-c", "slow-d", "slow-e"]

        @Test(arguments: Cell.all)
        func `every client gets a right answer from a source that works, and no call is wasted`(cell: Cell) throws {
            let network = try Network(cell)
            try network.warmUp()
            try network.begin()
            for (name, source) in try network.ask(Self.names) {
                #expect(cell.sources(of: name).contains { $0 == source }, "\(name)")
            }
            for vendor in network.vendors {
                for name in Self.names {
                    let count = vendor.backend.callCount("\(name).example.com")
                    #expect(count <= (cell.affects(vendor.source) ? Self.callLimit : 1), "\(vendor.source), \(name)")
                }
                #expect(vendor.relay.connections <= Self.connectionLimit, "\(vendor.source)")
            }
            try network.endWell()
        }
    }
}

extension Integration.FaultMatrixTests.Cell {
    fileprivate typealias Source = Integration.FaultMatrixTests.Source

    fileprivate func affects(_ source: Source) -> Bool { source == .first || source == .second && place == .all }

    /// Whether this source has a right answer to give.
    fileprivate func canAnswer(_ name: String, _ source: Source) -> Bool {
        guard affects(source) else { return true }
        return switch fault {
        case .goAwayStorm, .idleClose: true
        // Another address, or a new connection, works.
        case .refused, .tlsFailure, .blackHole: reach == .one
        case .resetMidBody, .slowDrip, .garbage, .status4xx, .status5xx, .empty, .huge, .wrongName:
            reach == .one && name != "slow-struck"
        }
    }

    /// The sources from which a client may get its answer: LocalDNS only where no provider can answer.
    fileprivate func sources(of name: String) -> [Source] {
        let providers = [Source.first, .second].filter { canAnswer(name, $0) }
        // Silence is no failure before a probe has met it: until then no other address is asked.
        if fault == .blackHole, place == .all { return providers + [.localDNS] }
        return providers.isEmpty ? [.localDNS] : providers
    }
}

extension Integration.FaultMatrixTests {
    /// The source of an answer.
    fileprivate enum Source: String {
        case first = "192.0.2.11"
        case second = "192.0.2.22"
        case localDNS = "198.51.100.1"

        /// Nil where a message has no address, or any other.
        init?(_ message: TestMessage) {
            guard message.addresses.count == 1 else { return nil }
            self.init(rawValue: message.addresses[0])
        }
    }

    /// A provider: nginx speaks HTTP/2 for a fake service, and a relay in front of it controls the connections.
    fileprivate final class Vendor {
        let source: Source
        let backend: FakeHTTPDNS
        let nginx: Nginx
        let relay: HTTPRelay
        /// A server whose certificate is not trusted.
        private let impostor: Nginx?
        private let addresses: [String]
        private let authority: String

        init(_ source: Source, _ fault: Fault?, _ reach: Reach) throws {
            self.source = source
            let certificates = try TestCertificates()
            authority = certificates.authority
            var zone = FakeZone(["*": .init(a: [source.rawValue])])
            // Only the second provider has this name, so that it too has a connection before the fault begins.
            if source == .first { zone.entries["slow-second.example.com"] = .init() }
            backend = try FakeHTTPDNS(zone)
            let requests = fault == .goAwayStorm ? reach == .one ? 3 : 1 : 100_000
            nginx = try Nginx(
                certificates.leaf(names: ["vendor.example"]), backend: backend, requestsPerConnection: requests)
            relay = try HTTPRelay(to: nginx.address)
            let bad: String?
            switch fault {
            case .refused:
                impostor = nil
                bad = "127.0.0.1:\(try FreePort.next())"
            case .tlsFailure:
                let other = try Nginx(TestCertificates().leaf(names: ["vendor.example"]))
                impostor = other
                bad = "\(other.address)"
            default: (impostor, bad) = (nil, nil)
            }
            let good = "127.0.0.1:\(relay.port)"
            addresses = bad.map { reach == .one ? [$0, good] : [$0] } ?? [good]
        }

        func table(_ name: String) -> String {
            DaemonConfiguration.aliyun(
                "https://127.0.0.1:\(relay.port)", name: name,
                """
                ca_file = "\(authority)"
                tls_names = ["vendor.example"]
                addresses = \(DaemonConfiguration.list(addresses))
                """)
        }
    }

    /// Two providers, LocalDNS, and a daemon between them.
    fileprivate struct Network {
        let cell: Cell
        let vendors: [Vendor]
        let localDNS: FakeLocalDNS
        let daemon: Daemon

        init(_ cell: Cell) throws {
            self.cell = cell
            let first = try Vendor(.first, cell.fault, cell.reach)
            let second = try Vendor(.second, cell.place == .all ? cell.fault : nil, cell.reach)
            vendors = [first, second]
            localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: [Source.localDNS.rawValue])]))
            daemon = try Daemon(
                first.table("first") + second.table("second")
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
        }

        private var isAtStart: Bool { cell.fault == .refused || cell.fault == .tlsFailure }

        private var struckVendors: ArraySlice<Vendor> { cell.place == .all ? vendors[...] : vendors[..<1] }

        /// Establishes a connection to both providers, where the fault allows one.
        func warmUp() throws {
            guard !isAtStart else { return }
            let client = try daemon.client()
            for (name, source) in [("slow-first", Source.first), ("slow-second", .second)] {
                #expect(try client.ask("\(name).example.com").addresses == [source.rawValue])
            }
        }

        /// Makes the fault begin.
        func begin() throws {
            for vendor in struckVendors {
                if let fault = Self.httpFault(cell.fault) {
                    vendor.backend.misbehave(fault, for: cell.reach == .one ? "slow-struck.example.com" : nil)
                }
                switch (cell.fault, cell.reach) {
                case (.blackHole, .one): vendor.relay.silence()
                case (.blackHole, .all): vendor.relay.silenceAll()
                case (.idleClose, _): vendor.relay.disconnect()
                default: break
                }
            }
        }

        private static func httpFault(_ fault: Fault) -> HTTPFault? {
            switch fault {
            case .resetMidBody: .closeMidBody
            case .slowDrip: .drip(.milliseconds(100))
            case .garbage: .body((0..<200).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 3) })
            case .status4xx: .status(404)
            case .status5xx: .status(503)
            case .empty: .body([])
            case .huge: .oversizedBody(200_000)
            case .wrongName: .wrongName
            case .refused, .blackHole, .tlsFailure, .goAwayStorm, .idleClose: nil
            }
        }

        /// Asks for all names at once.
        ///
        /// - Returns: the source of each answer.
        func ask(_ names: [String]) throws -> [String: Source?] {
            let client = try daemon.client()
            for (number, name) in names.enumerated() {
                try client.send(.query("\(name).example.com", id: UInt16(number)))
            }
            var sources: [String: Source?] = [:]
            for _ in names {
                let message = try client.receive().message
                sources.updateValue(Source(message), forKey: names[Int(message.id)])
            }
            return sources
        }

        /// Checks that the first provider answers again where it can, and until then the second.
        func endWell() throws {
            guard cell.canAnswer("slow-after", .first) else { return }
            let client = try daemon.client()
            var sources: [Source?] = []
            let deadline = ContinuousClock.now + .patience
            while sources.last != .first, ContinuousClock.now < deadline {
                if cell.fault == .idleClose, cell.reach == .all { vendors[0].relay.disconnect() }
                sources.append(Source(try client.ask("slow-after\(sources.count).example.com")))
            }
            #expect(sources.last == .first)
            #expect(sources.dropLast().allSatisfy { $0 == .second })
        }
    }
}
