import Foundation
import TestSupport

/// Clients that ask at a steady rate over UDP and TCP and never twice the same, while the server is restarted: what gets
/// no response was lost. Each has one query outstanding.
package final class SteadyLoad: Sendable {
    /// What became of the queries of one kind.
    package struct Count: Sendable, CustomStringConvertible {
        package fileprivate(set) var sent = 0
        fileprivate var answered = 0
        /// Answered with anything but NOERROR.
        package fileprivate(set) var failed = 0
        /// The longest wait for a response.
        fileprivate var longest: Duration = .zero
        /// Connections that could not be made, or were closed.
        package fileprivate(set) var broken = 0

        package var unanswered: Int { sent - answered }

        package var description: String {
            "\(sent) sent, \(unanswered) unanswered, \(failed) failed, \(broken) connections broken, longest wait \(longest)"
        }
    }

    /// The kinds of clients.
    package enum Kind: Sendable, CaseIterable {
        /// Over UDP.
        case udp
        /// Over TCP, a connection for each query.
        case tcp
        /// Over TCP connections that stay.
        case lasting

        /// So many over UDP that every thread of the server has some.
        fileprivate var clients: Int { self == .udp ? 16 : 6 }
        /// Of the rate, in percent.
        fileprivate var share: Int { self == .udp ? 90 : 5 }
    }

    private struct State {
        var counts: [Kind: Count] = [:]
        var isStopping = false
        var threads = 0
    }

    /// How long the last responses are awaited: longer than any client waits.
    private static let silence: Duration = .seconds(6)

    private let monitor = Monitor(State())

    /// Starts asking.
    ///
    /// - Parameters:
    ///   - rate: queries in a second, a tenth of them over TCP.
    ///   - name: the name that each query asks for, by its number.
    package init(_ server: TestAddress, rate: Int, name: @escaping @Sendable (Int) -> String) {
        let clients = Kind.allCases.flatMap { kind in Array(repeating: kind, count: kind.clients) }
        monitor.withLock { $0.threads = clients.count }
        for (place, kind) in clients.enumerated() {
            let interval = Duration.seconds(1) * kind.clients * 100 / (rate * kind.share)
            Thread.detachNewThread { [monitor] in
                Self.ask(server, kind, every: interval, monitor) { name($0 * clients.count + place) }
                monitor.withLock { $0.threads -= 1 }
            }
        }
    }

    deinit { monitor.withLock { $0.isStopping = true } }

    /// Stops asking, waits for the last responses, and returns what became of the queries.
    package func stop() -> [Kind: Count] {
        monitor.withLock { $0.isStopping = true }
        _ = monitor.wait(.patience) { $0.threads == 0 }
        return monitor.read { $0.counts }
    }

    /// Waits until so many queries of each kind were answered.
    package func wait(_ count: Int) -> Bool {
        monitor.wait(.patience) { state in Kind.allCases.allSatisfy { state.counts[$0]?.answered ?? 0 >= count } }
    }

    private static func ask(
        _ server: TestAddress, _ kind: Kind, every interval: Duration, _ monitor: Monitor<State>,
        _ name: (Int) -> String
    ) {
        var (client, next, number): (PlainClient?, ContinuousClock.Instant, Int) = (nil, .now, 0)
        while !monitor.read({ $0.isStopping }) {
            let query = TestMessage.query(name(number), id: UInt16(truncatingIfNeeded: number), edns: TestEDNS())
            let sent = ContinuousClock.now
            let reply = try? response(to: query, of: server, kind, &client)
            if kind == .tcp || reply == nil { client = nil }
            monitor.withLock { state in
                state.counts[kind, default: Count()].add(reply, after: .now - sent, isConnection: kind != .udp)
            }
            number += 1
            next = max(next + interval, .now)
            Thread.sleep(forTimeInterval: (next - .now).inSeconds)
        }
    }

    /// The response to a query, of the client or of a new one; nil: none came.
    private static func response(
        to query: TestMessage, of server: TestAddress, _ kind: Kind, _ client: inout PlainClient?
    ) throws -> TestMessage? {
        let asking = try client ?? PlainClient(server, over: kind == .udp ? .udp : .tcp)
        client = asking
        try asking.send(query)
        guard let reply = try asking.receive(within: silence), reply.id == query.id else { return nil }
        return reply
    }
}

extension SteadyLoad.Count {
    fileprivate mutating func add(_ reply: TestMessage?, after wait: Duration, isConnection: Bool) {
        sent += 1
        guard let reply else {
            broken += isConnection ? 1 : 0
            return
        }
        answered += 1
        failed += reply.rcode == 0 ? 0 : 1
        longest = max(longest, wait)
    }
}
