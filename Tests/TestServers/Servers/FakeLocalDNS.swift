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
        /// From the zone; over UDP with the TC bit and no records what does not fit into the buffer of the query.
        case bounded
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

    struct State {
        var zone: FakeZone
        var behaviours: [String: Behaviour] = [:]
        var questions: [Question] = []
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
        }
        listener.shutdown()
        // An empty datagram wakes the receiving thread.
        try? datagrams.send([], to: address)
    }

    /// Sets how `name` (nil: every name without a behaviour of its own) is answered.
    ///
    /// - Parameter type: only questions for this type; nil: for all without a behaviour of their own.
    package func behave(_ behaviour: Behaviour, for name: String? = nil, type: UInt16? = nil) {
        monitor.withLock { $0.behaviours[State.key(name, type)] = behaviour }
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
            return (state.zone, state.behaviour(question))
        }
        var reply = zone.reply(to: query)
        switch behaviour {
        case .honest: send(reply)
        case .silent: break
        case .lie(let addresses): send(lie(addresses, query))
        case .rcode(let code, let delay):
            reply.answers = []
            reply.authorities = []
            reply.flags = reply.flags & 0xfff0 | UInt16(code & 15)
            if delay == .zero { send(reply) } else { sendLater(reply, delay, send) }
        case .bounded:
            if !overTCP, reply.encoded.count > max(512, Int(query.edns?.size ?? 0)) {
                reply.answers = []
                reply.flags |= 0x0200
            }
            send(reply)
        }
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
}
