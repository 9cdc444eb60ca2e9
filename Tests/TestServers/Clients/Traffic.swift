import Foundation
package import TestSupport

/// A client that asks for A of one name after the other at a steady pace, whether or not earlier ones are answered.
package final class Traffic: Sendable {
    /// One look-up.
    package struct Lookup: Sendable {
        package let name: String
        /// When it was asked, by the stopwatch.
        package let asked: Duration
        /// When the response arrived, by the stopwatch.
        package fileprivate(set) var answered: Duration?
        package fileprivate(set) var reply: TestMessage?

        /// How long the client waited; nil without a response.
        package var time: Duration? { answered.map { $0 - asked } }
    }

    private struct State {
        var lookups: [Lookup] = []
        var isStopping = false
        var hasEnded = false
        var failure: String?
    }

    private let monitor = Monitor(State())

    /// Starts asking.
    ///
    /// - Parameters:
    ///   - source: the client's address.
    ///   - count: the largest number of names.
    ///   - name: each name, by its number from 0.
    package init(
        _ daemon: Daemon, from source: String, every interval: Duration, count: Int = 10_000, by stopwatch: Stopwatch,
        name: @escaping @Sendable (Int) -> String
    ) throws {
        let client = try daemon.client(from: source)
        let monitor = monitor
        Thread.detachNewThread {
            do {
                try Self.ask(client, every: interval, count: count, stopwatch, monitor, name)
            } catch {
                monitor.withLock { $0.failure = "\(error)" }
            }
            monitor.withLock { $0.hasEnded = true }
        }
    }

    deinit { monitor.withLock { $0.isStopping = true } }

    /// Waits until the look-ups fulfil a condition.
    ///
    /// - Returns: whether they do, within `limit`.
    package func wait(within limit: Duration = .patience, until holds: ([Lookup]) -> Bool) -> Bool {
        _ = monitor.wait(limit) { holds($0.lookups) || $0.hasEnded }
        return monitor.read { holds($0.lookups) }
    }

    /// Waits until all names were asked for, and the outstanding ones are answered.
    package func finish() throws -> [Lookup] {
        _ = monitor.wait(.patience) { $0.hasEnded }
        return try monitor.read { state in
            if let failure = state.failure { throw TestFailure(failure) }
            return state.lookups
        }
    }

    /// Stops asking, and waits until the outstanding names are answered.
    package func stop() throws -> [Lookup] {
        monitor.withLock { $0.isStopping = true }
        return try finish()
    }

    private static func ask(
        _ client: TestDNSClient, every interval: Duration, count: Int, _ stopwatch: Stopwatch,
        _ monitor: Monitor<State>,
        _ name: (Int) -> String
    ) throws {
        func receive(within limit: Duration) throws -> Bool {
            guard let message = try client.receiveIfAny(within: limit)?.message else { return false }
            let now = stopwatch.fair
            monitor.withLock { state in
                guard state.lookups.indices.contains(Int(message.id)) else { return }
                state.lookups[Int(message.id)].answered = now
                state.lookups[Int(message.id)].reply = message
            }
            return true
        }
        var next = ContinuousClock.now
        for number in 0..<count where !monitor.read({ $0.isStopping }) {
            let name = name(number)
            monitor.withLock { $0.lookups.append(Lookup(name: name, asked: stopwatch.fair)) }
            try client.send(.query(name, id: UInt16(number), edns: TestEDNS()))
            next += interval
            while next > .now, try receive(within: next - .now) {}
        }
        while monitor.read({ $0.lookups.contains { $0.reply == nil } }), try receive(within: .patience) {}
    }
}
