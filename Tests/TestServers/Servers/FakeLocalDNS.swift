import Foundation
import Glibc
import TestSupport

/// A network's own resolver on loopback, UDP and TCP on one port, that can forge responses and misbehave on command.
package final class FakeLocalDNS: Sendable {
    /// How it answers a name.
    package enum Behaviour: Sendable, Equatable {
        /// From the zone.
        case honest
        /// These addresses: IPv4 for A, IPv6 for AAAA; no records of other families and types.
        case lie([String])
        /// Only this RCODE, after this time.
        case rcode(Int, after: Duration = .zero)
        /// No response.
        case silent
        /// From the zone, after this time.
        case delay(Duration)
        /// From the zone, once another behaviour is set.
        case hold
        /// Over UDP with the TC bit and no records; over TCP from the zone.
        case truncated
        /// As `truncated` what does not fit into the buffer of the query, and as `honest` what does.
        case bounded
        /// A response with this address and another ID over UDP, then the honest one.
        case forged(String)
        /// From the zone over TCP, and no response over UDP.
        case silentOverUDP
        /// From the zone, with the OPT record of the query in the answer section.
        case copiesOPT
        /// From the zone, with these address records in the additional section.
        case extraAddresses([String])
    }

    /// A question that was received.
    package struct Question: Sendable {
        /// With its letter case.
        package var name: String
        package var type: UInt16
        package var id: UInt16
        package var from: TestAddress
        package var overTCP: Bool
        package var edns: TestEDNS?
        package var flags: UInt16
    }

    struct Held {
        var query: TestMessage
        var send: @Sendable (TestMessage) -> Void
    }

    struct State {
        var zone: FakeZone
        var behaviours: [String: Behaviour] = [:]
        var questions: [Question] = []
        var held: [Held] = []
        var open: [Int: TestSocket] = [:]
        var connections = 0
        var stopped = false

        static func key(_ name: String?, _ type: UInt16?) -> String {
            (name?.lowercased() ?? "*") + (type.map { " \($0)" } ?? "")
        }

        func behaviour(_ question: TestMessage.Question) -> Behaviour {
            behaviours[Self.key(question.name, question.type)] ?? behaviours[Self.key(question.name, nil)]
                ?? behaviours[Self.key(nil, question.type)] ?? behaviours[Self.key(nil, nil)] ?? .honest
        }
    }

    /// The address on which it listens, UDP and TCP.
    package let address: TestAddress
    private let monitor: Monitor<State>
    private let datagrams: TestSocket
    private let listener: TestSocket

    /// Starts to listen; port 0 means one that is free for both.
    package init(_ zone: FakeZone = FakeZone(), host: String = "127.0.0.1", port: UInt16 = 0) throws {
        if port == 0 {
            (address, datagrams, listener) = try FreePort.bound(on: host)
        } else {
            address = TestAddress(host, port: port)
            datagrams = try TestSocket.udp(address)
            listener = try TestSocket.listener(address)
        }
        monitor = Monitor(State(zone: zone))
        serveDatagrams()
        serveConnections()
    }

    deinit { stop() }

    /// Stops listening and closes all connections.
    package func stop() {
        monitor.withLock { state in
            state.stopped = true
            for socket in state.open.values { socket.shutdown() }
            state.held = []
        }
        listener.shutdown()
        // An empty datagram wakes the receiving thread.
        try? datagrams.send([], to: address)
    }

    /// Sets how `name` (nil: every name without a behaviour of its own) is answered. Sends responses that were held.
    ///
    /// - Parameter type: only questions for this type; nil: for all without a behaviour of their own.
    package func behave(_ behaviour: Behaviour, for name: String? = nil, type: UInt16? = nil) {
        let (zone, released) = monitor.withLock { state in
            state.behaviours[State.key(name, type)] = behaviour
            let held = state.held
            state.held = held.filter { state.behaviour($0.query.questions[0]) == .hold }
            return (state.zone, held.filter { state.behaviour($0.query.questions[0]) != .hold })
        }
        for held in released { held.send(zone.reply(to: held.query)) }
    }

    /// The zone that it answers from; may be changed at any time.
    package var zone: FakeZone {
        get { monitor.read { $0.zone } }
        set { monitor.withLock { $0.zone = newValue } }
    }

    /// The questions so far.
    package var questions: [Question] { monitor.read { $0.questions } }

    /// The number of questions for a name, in any letter case; nil: for any.
    package func questionCount(_ name: String? = nil) -> Int { monitor.read { Self.count($0, name) } }

    /// Waits until it was asked at least `count` times.
    package func waitForQuestions(_ count: Int, for name: String? = nil, within limit: Duration = .patience) -> Bool {
        monitor.waitForLoop(limit) { Self.count($0, name) >= count }
    }

    private static func count(_ state: State, _ name: String?) -> Int {
        guard let name = name?.lowercased() else { return state.questions.count }
        return state.questions.count { $0.name.lowercased() == name }
    }

    private func serveDatagrams() {
        let (socket, monitor) = (datagrams, monitor)
        Thread.detachNewThread {
            while !monitor.read({ $0.stopped }) {
                guard let (bytes, from) = socket.receive(nil), let query = try? TestMessage(decoding: bytes) else {
                    continue
                }
                Self.answer(query, from, overTCP: false, monitor) { try? socket.send($0.encoded, to: from) }
            }
        }
    }

    private func serveConnections() {
        let (listener, monitor) = (listener, monitor)
        Thread.detachNewThread {
            while let (socket, from) = listener.accept() {
                let number = monitor.withLock { state in
                    state.connections += 1
                    state.open[state.connections] = socket
                    return state.connections
                }
                Thread.detachNewThread {
                    var stream = FrameReader()
                    while let frame = stream.next(socket, nil), let query = try? TestMessage(decoding: frame) {
                        Self.answer(query, from, overTCP: true, monitor) { try? socket.write($0.framed) }
                    }
                    socket.shutdown()
                    monitor.withLock { $0.open[number] = nil }
                }
            }
        }
    }

    private static func isProbe(_ name: String) -> Bool {
        let label = name.prefix { $0 != "." }
        return label.count == 32 && label.allSatisfy(\.isHexDigit)
    }

    private static func answer(
        _ query: TestMessage, _ from: TestAddress, overTCP: Bool, _ monitor: Monitor<State>,
        _ send: @escaping @Sendable (TestMessage) -> Void
    ) {
        guard let question = query.questions.first else { return }
        // The daemon's own probes for forwarding loops are neither counted nor delayed.
        guard !isProbe(question.name) else { return send(monitor.read { $0.zone }.reply(to: query)) }
        let (zone, behaviour) = monitor.withLock { state in
            // The daemon's own probes for silence are not counted.
            if question.name != "." || question.type != 2 {
                state.questions.append(
                    Question(
                        name: question.name, type: question.type, id: query.id, from: from, overTCP: overTCP,
                        edns: query.edns, flags: query.flags))
            }
            let behaviour = state.behaviour(question)
            if behaviour == .hold { state.held.append(Held(query: query, send: send)) }
            return (state.zone, behaviour)
        }
        var reply = zone.reply(to: query)
        switch behaviour {
        case .honest: send(reply)
        case .silent, .hold: break
        case .silentOverUDP: if overTCP { send(reply) }
        case .copiesOPT:
            reply.answers += query.additionals.filter { $0.type == 41 }
            reply.additionals = []
            send(reply)
        case .lie(let addresses): send(lie(addresses, query))
        case .rcode(let code, let delay):
            reply.answers = []
            reply.authorities = []
            reply.flags = reply.flags & 0xfff0 | UInt16(code & 15)
            if delay == .zero { send(reply) } else { sendLater(reply, delay, send) }
        case .delay(let duration): sendLater(reply, duration, send)
        case .truncated:
            send(overTCP ? reply : truncated(reply))
        case .bounded:
            let limit = max(512, Int(query.edns?.size ?? 0))
            send(overTCP || reply.encoded.count <= limit ? reply : truncated(reply))
        case .forged(let address):
            var forged = lie([address], query)
            forged.id ^= 0x0101
            if !overTCP { send(forged) }
            send(reply)
        case .extraAddresses(let addresses):
            reply.additionals += records(addresses, question.name)
            send(reply)
        }
    }

    private static func truncated(_ reply: TestMessage) -> TestMessage {
        var reply = reply
        reply.answers = []
        reply.flags |= 0x0200
        return reply
    }

    private static func sendLater(
        _ reply: TestMessage, _ delay: Duration, _ send: @escaping @Sendable (TestMessage) -> Void
    ) {
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: delay.inSeconds)
            send(reply)
        }
    }

    private static func lie(_ addresses: [String], _ query: TestMessage) -> TestMessage {
        var zone = FakeZone()
        zone.entries["*"] = .init(
            a: addresses.filter { !$0.contains(":") }, aaaa: addresses.filter { $0.contains(":") })
        return zone.reply(to: query)
    }

    private static func records(_ addresses: [String], _ name: String) -> [TestMessage.Record] {
        addresses.compactMap { text in
            guard let bytes = try? TestAddress.bytes(text) else { return nil }
            return .init(name, bytes.count == 4 ? TestRecordType.a : TestRecordType.aaaa, ttl: 60, data: bytes)
        }
    }
}
