import TestSupport
import Testing

extension Integration {
    /// Every kind of failure of a provider, for one name or address or for all of them, at the first provider or at
    /// both: which answer comes, when, and how many calls and connections it takes.
    @Suite(.serialized)
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

            static let all = Fault.allCases.flatMap { fault in
                Reach.allCases.flatMap { reach in
                    Place.allCases.map { Cell(fault: fault, reach: reach, place: $0) }
                }
            }
        }

        @Test(arguments: Cell.all)
        func `a fault costs what it must, and nothing else is affected`(cell: Cell) throws {
            var surprises: [String] = []
            // The daemon considers a source slow after 0.3 s. Where the machine stalled for a good part of that, other
            // results are correct as well: then everything is repeated, up to four times.
            for _ in 0..<5 {
                let watch = Stopwatch()
                surprises = try play(cell)
                if surprises.isEmpty || watch.lost < .milliseconds(100) { break }
            }
            #expect(surprises == [])
        }

        /// Connections that probes of a provider's addresses may open in one run.
        private static let probes = 3

        /// - Returns: deviations from what is expected.
        private func play(_ cell: Cell) throws -> [String] {
            let network = try Network(cell)
            let expected = Expectation(cell)
            var surprises = try network.warmUp()
            try network.begin()
            let replies = try network.ask(["slow-struck", "slow-b", "slow-c", "slow-d", "slow-e"])
            for (name, reply) in replies {
                let answer = name == "slow-struck" ? expected.struck : expected.others
                if reply.source != answer.source || reply.after < answer.when.lowerBound
                    || reply.fair >= answer.when.upperBound
                {
                    surprises.append("\(name): \(reply)")
                }
            }
            for (vendor, limits) in zip(network.vendors, expected.calls) {
                let count = vendor.backend.callCount("slow-struck.example.com")
                if !limits.contains(count) { surprises.append("\(count) calls") }
            }
            for (vendor, limits) in zip(network.vendors, expected.connections) {
                let count = vendor.relay.connections
                if count > limits.upperBound + Self.probes { surprises.append("\(count) connections") }
            }
            return try surprises + network.endsWell()
        }
    }
}

extension Integration.FaultMatrixTests {
    /// What is expected of a cell.
    fileprivate struct Expectation {
        /// The expected source of an answer, and its time after the question.
        struct Answer {
            let source: Source
            let when: Range<Duration>

            /// Without waiting for a failure.
            static func prompt(_ source: Source) -> Answer {
                Answer(source: source, when: .zero ..< .milliseconds(290))
            }
            /// From the hedge after 0.3 s.
            static func hedged(_ source: Source) -> Answer {
                Answer(source: source, when: .milliseconds(290) ..< .milliseconds(900))
            }
            /// After an attempt's time-out of 1 s, or that of the hedge.
            static func late(_ source: Source) -> Answer {
                Answer(source: source, when: .milliseconds(950) ..< .milliseconds(1_700))
            }
            /// After HTTPDNS is given up: once every address is in backoff, at 1.9 s at the latest.
            static func last(_ source: Source) -> Answer {
                Answer(source: source, when: .milliseconds(1_250) ..< .milliseconds(2_300))
            }
        }

        let struck: Answer
        let others: Answer
        /// Calls for the affected name that reached each provider.
        let calls: [ClosedRange<Int>]
        /// Connections at each provider, including those of the warm-up, without probes.
        let connections: [ClosedRange<Int>]

        init(_ cell: Integration.FaultMatrixTests.Cell) {
            let elsewhere: Source = cell.place == .all ? .localDNS : .second
            let isEverywhere = cell.place == .all
            switch cell.fault {
            case .goAwayStorm, .idleClose:
                // No effect on clients; only connections are opened again.
                (struck, others, calls) = (.prompt(.first), .prompt(.first), [1...1, 0...0])
                connections =
                    switch (cell.fault, cell.reach) {
                    // Seven requests, two of them in the warm-up: three on each connection, or one.
                    case (.goAwayStorm, .one): [3...3, 1...1]
                    case (.goAwayStorm, .all): [7...7, 1...1]
                    default: [2...2, 1...1]
                    }
            case .resetMidBody, .garbage, .status4xx, .status5xx, .empty, .huge, .wrongName:
                // The next source at once. A broken stream on a used connection may mean the connection's end: one more
                // attempt.
                struck = .prompt(elsewhere)
                others = cell.reach == .all ? struck : .prompt(.first)
                // Where another name succeeds in the meantime, the address is asked a second time.
                let tries = cell.fault == .resetMidBody ? 2...4 : 1...1
                // Where all fail, the other names may already have put the second provider in backoff.
                let later = cell.reach == .all ? 0...tries.upperBound : tries
                calls = [tries, isEverywhere ? later : 1...1]
                connections = [1...1, 1...1]
            case .slowDrip:
                // Like silence, where no other name is answered in the meantime: a drip without an end does not count
                // as an answer. Where both providers do it, new connections are tried until HTTPDNS is given up.
                struck = isEverywhere ? .last(.localDNS) : .hedged(.second)
                others = cell.reach == .all ? struck : .prompt(.first)
                calls = isEverywhere ? [1...3, 1...3] : [1...1, 1...1]
                connections = [1...1, 1...1]
            case .refused, .tlsFailure:
                struck = .prompt(cell.reach == .one ? .first : elsewhere)
                others = struck
                calls = cell.reach == .one ? [1...1, 0...0] : isEverywhere ? [0...0, 0...0] : [0...0, 1...1]
                connections =
                    cell.reach == .one ? [1...1, 0...0] : isEverywhere ? [0...0, 0...0] : [0...0, 1...1]
            case .blackHole:
                switch (cell.reach, cell.place) {
                case (.one, .first):
                    (struck, calls) = (.hedged(.second), [0...0, 1...1])
                    connections = [1...1, 1...1]
                case (.one, .all):
                    // The attempt's time-out closes the dead connection, and all five share a new one. The hedges time
                    // out 0.3 s later, unless they are answered before.
                    (struck, calls) = (.late(.first), [1...1, 0...0])
                    connections = [2...2, 1...2]
                case (.all, .first):
                    (struck, calls) = (.hedged(.second), [0...0, 1...1])
                    connections = [1...1, 1...1]
                case (.all, .all):
                    // The new connection is never established: they wait for it until HTTPDNS is given up.
                    (struck, calls) = (.last(.localDNS), [0...0, 0...0])
                    connections = [2...2, 2...2]
                }
                others = struck
            }
        }
    }

    /// The source of an answer.
    fileprivate enum Source: String {
        case first = "192.0.2.11"
        case second = "192.0.2.22"
        case localDNS = "198.51.100.1"
    }

    /// A provider: nginx speaks HTTP/2 for a fake service, and a relay in front of it controls the connections.
    fileprivate final class Vendor {
        let backend: FakeHTTPDNS
        let nginx: Nginx
        let relay: HTTPRelay
        /// A server whose certificate is not trusted.
        private let impostor: Nginx?
        private let addresses: [String]
        private let authority: String

        init(_ source: Source, _ fault: Fault?, _ reach: Reach) throws {
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
        ///
        /// - Returns: deviations from what is expected.
        func warmUp() throws -> [String] {
            guard !isAtStart else { return [] }
            let client = try daemon.client()
            return try [("slow-first", Source.first), ("slow-second", .second)].compactMap { name, source in
                let addresses = try client.ask("\(name).example.com").addresses
                return addresses == [source.rawValue] ? nil : "\(name): \(addresses)"
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

        struct Reply {
            let source: Source?
            let after: Duration
            /// The same less the time for which a busy machine stalled.
            let fair: Duration
        }

        /// Asks for all names at once.
        func ask(_ names: [String]) throws -> [String: Reply] {
            let client = try daemon.client()
            let watch = Stopwatch()
            for (number, name) in names.enumerated() {
                try client.send(.query("\(name).example.com", id: UInt16(number)))
            }
            var replies: [String: Reply] = [:]
            for _ in names {
                let message = try client.receive().message
                replies[names[Int(message.id)]] = Reply(
                    source: message.addresses.first.flatMap { Source(rawValue: $0) },
                    after: watch.elapsed, fair: watch.fair)
            }
            return replies
        }

        /// After a fault that has ended, or that affected only existing connections, the first provider answers again.
        ///
        /// - Returns: deviations from what is expected.
        func endsWell() throws -> [String] {
            let client = try daemon.client()
            switch (cell.fault, cell.reach) {
            case (.blackHole, .one):
                // Every attempt on the dead connection is given up after 0.3 s, since the second provider answers.
                var number = 0
                let deadline = ContinuousClock.now + .patience
                while ContinuousClock.now < deadline {
                    number += 1
                    let reply = try client.ask("slow-after\(number).example.com")
                    if reply.addresses == [Source.first.rawValue] { return [] }
                    _ = try client.receiveIfAny(within: .milliseconds(50))
                }
                return ["the dead connection is still used"]
            case (.idleClose, .all):
                // Repeatedly: each time takes one new connection, without a delay.
                return try (1...3).compactMap { round in
                    vendors[0].relay.disconnect()
                    let watch = Stopwatch()
                    let addresses = try client.ask("slow-round\(round).example.com").addresses
                    let (time, connections) = (watch.fair, vendors[0].relay.connections)
                    return addresses == [Source.first.rawValue] && time < .milliseconds(290) && connections == 2 + round
                        ? nil : "round \(round): \(addresses), \(time), \(connections) connections"
                }
            default: return []
            }
        }
    }
}
