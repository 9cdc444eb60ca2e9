import Foundation
import Glibc
import TestSupport

/// Clients that ask at a steady rate over UDP and TCP and never twice the same, while the server is restarted: what gets
/// no response was lost.
package final class SteadyLoad: Sendable {
    /// What became of the queries of one kind.
    package struct Count: Sendable, CustomStringConvertible {
        package var sent = 0
        package var answered = 0
        /// Answered with anything but NOERROR.
        package var failed = 0
        /// The first such response.
        package var failure: String?
        /// The longest wait for a response.
        package var longest: Duration = .zero
        /// Connections that could not be made, or were closed.
        package var broken = 0

        package var unanswered: Int { sent - answered }

        package var description: String {
            "\(sent) sent, \(unanswered) unanswered, \(failed) failed \(failure ?? ""), \(broken) connections broken, longest wait \(longest)"
        }
    }

    /// The kinds of clients.
    package enum Kind: Sendable, CaseIterable {
        /// Over UDP, of many sockets.
        case udp
        /// Over TCP, a connection for each query.
        case tcp
        /// Over TCP connections that stay.
        case lasting
    }

    private struct State {
        var counts: [Kind: Count] = [:]
        var isStopping = false
        var threads = 0
        var failure: String?
    }

    /// How long the last responses are awaited: longer than any client waits.
    private static let silence: Duration = .seconds(6)
    /// The number of UDP sockets, so that every thread of the server has some.
    private static let sockets = 16
    /// The most UDP queries that are sent at once.
    private static let burst = 200
    /// TCP clients; each has one query outstanding.
    private static let connecting = 12

    private let monitor = Monitor(State())

    /// Starts asking.
    ///
    /// - Parameters:
    ///   - rate: queries in a second, a tenth of them over TCP.
    ///   - name: the name that each query asks for, by its number.
    package init(_ server: TestAddress, rate: Int, name: @escaping @Sendable (Int) -> String) {
        let overTCP = rate / 10
        start { [monitor] in try Self.datagrams(server, rate - overTCP, name, monitor) }
        for client in 0..<Self.connecting {
            let kind = client < Self.connecting / 2 ? Kind.tcp : .lasting
            let interval = Duration.nanoseconds(1_000_000_000 * Self.connecting / max(1, overTCP))
            start { [monitor] in
                try Self.streams(server, kind, every: interval, monitor) { name($0 * Self.connecting + client) }
            }
        }
    }

    deinit { monitor.withLock { $0.isStopping = true } }

    /// Stops asking, waits for the last responses, and returns what became of the queries.
    package func stop() throws -> [Kind: Count] {
        monitor.withLock { $0.isStopping = true }
        _ = monitor.wait(.seconds(30)) { $0.threads == 0 }
        return try monitor.read { state in
            if let failure = state.failure { throw TestFailure(failure) }
            return state.counts
        }
    }

    /// Waits until so many queries of each kind were answered.
    package func wait(_ count: Int) -> Bool {
        monitor.wait(.patience) { state in Kind.allCases.allSatisfy { state.counts[$0]?.answered ?? 0 >= count } }
    }

    private func start(_ body: @escaping @Sendable () throws -> Void) {
        let monitor = monitor
        monitor.withLock { $0.threads += 1 }
        Thread.detachNewThread {
            do {
                try body()
            } catch {
                monitor.withLock { $0.failure = "\(error)" }
            }
            monitor.withLock { $0.threads -= 1 }
        }
    }

    // MARK: UDP

    private static func datagrams(
        _ server: TestAddress, _ rate: Int, _ name: (Int) -> String, _ monitor: Monitor<State>
    ) throws {
        let clients = try (0..<sockets).map { _ in try TestSocket.udp(TestAddress("127.0.0.1")) }
        var open: [[UInt16: ContinuousClock.Instant]] = Array(repeating: [:], count: sockets)
        var count = Count()
        var began = ContinuousClock.now
        var quietSince = began
        var isOver = false
        while !isOver || (count.unanswered > 0 && ContinuousClock.now - quietSince < silence) {
            let now = ContinuousClock.now
            if !isOver {
                var due = Int((now - began) / .microseconds(1)) * rate / 1_000_000
                // After a stall of this process the rate goes on as before: all that is due at once could be more than
                // the server's buffers take.
                if due - count.sent > burst {
                    began += .microseconds((due - count.sent - burst) * 1_000_000 / rate)
                    due = count.sent + burst
                }
                while count.sent < due {
                    let (client, id) = (count.sent % sockets, UInt16(truncatingIfNeeded: count.sent / sockets))
                    try clients[client].send(
                        TestMessage.query(name(count.sent), id: id, edns: TestEDNS()).encoded, to: server)
                    open[client][id] = now
                    count.sent += 1
                }
                isOver = monitor.read { $0.isStopping }
                quietSince = now
            }
            var wanted = clients.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            guard poll(&wanted, nfds_t(wanted.count), 1) > 0 else { continue }
            for (index, entry) in wanted.enumerated() where entry.revents != 0 {
                while let (bytes, _) = clients[index].receive(.zero) {
                    let id = bytes.count > 3 ? UInt16(bytes[0]) << 8 | UInt16(bytes[1]) : 0
                    guard let sent = open[index].removeValue(forKey: id) else { continue }
                    quietSince = .now
                    count.add(bytes, quietSince - sent)
                }
            }
            let counted = count
            monitor.withLock { $0.counts[.udp] = counted }
        }
    }

    // MARK: TCP

    private static func streams(
        _ server: TestAddress, _ kind: Kind, every interval: Duration, _ monitor: Monitor<State>,
        _ name: (Int) -> String
    ) throws {
        var next = ContinuousClock.now
        var number = 0
        var client: TestTCPClient?
        while !monitor.read({ $0.isStopping }) {
            var count = Count(sent: 1)
            let sent = ContinuousClock.now
            do {
                if client == nil { client = try TestTCPClient(server) }
                try client?.send([.query(name(number), id: UInt16(truncatingIfNeeded: number), edns: TestEDNS())])
                if let reply = try client?.receive(within: silence) {
                    count.add(reply.encoded, .now - sent)
                } else {
                    (client, count.broken) = (nil, 1)
                }
            } catch {
                (client, count.broken) = (nil, 1)
            }
            if kind == .tcp { client = nil }
            number += 1
            monitor.withLock { $0.counts[kind, default: Count()].add(count) }
            next += interval
            if next > .now { Thread.sleep(forTimeInterval: (next - .now).inSeconds) } else { next = .now }
        }
    }
}

extension SteadyLoad.Count {
    fileprivate init(sent: Int) { self.sent = sent }

    fileprivate mutating func add(_ response: [UInt8], _ wait: Duration) {
        answered += 1
        if response[3] & 15 != 0 {
            failed += 1
            failure = failure ?? String(decoding: response.map { 32..<127 ~= $0 ? $0 : 46 }, as: UTF8.self)
        }
        longest = max(longest, wait)
    }

    fileprivate mutating func add(_ other: Self) {
        sent += other.sent
        answered += other.answered
        failed += other.failed
        failure = failure ?? other.failure
        broken += other.broken
        longest = max(longest, other.longest)
    }
}
