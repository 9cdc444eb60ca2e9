import DNSWire
import Scheduling

/// The clients that wait for a flight, by numbers that are used once.
@Loop
struct FlightClients {
    /// What the clients of one type get.
    enum Outcome: Sendable {
        case given(Response)
        /// No new answer, and why: what is left is one past its TTL, a preset of last resort, or SERVFAIL.
        case missing(stale: AnswerStore.Cached?, ExtendedError)
    }

    /// Called once: with the outcome, or with nil when the flight was given up and the client is to ask again.
    typealias Completion = @Loop (Outcome?) -> Void

    private struct Client {
        let number: Int
        /// When it must have its answer; nil: by the end of the race.
        let deadline: Instant?
        let done: Completion
    }

    /// The first one, mostly the only one, and the others.
    private var first: Client?
    private var others: [Int: Client] = [:]
    private var lastNumber = 0
    /// The first deadline before the end of the race.
    private(set) var firstDeadline: Instant?

    /// How many wait.
    var count: Int { (first == nil ? 0 : 1) + others.count }

    /// - Parameter deadline: nil: the end of the race.
    mutating func add(until deadline: Instant?, _ done: @escaping Completion) -> Int {
        lastNumber += 1
        let client = Client(number: lastNumber, deadline: deadline, done: done)
        if first == nil { first = client } else { others[lastNumber] = client }
        if let deadline { firstDeadline = min(firstDeadline ?? deadline, deadline) }
        return lastNumber
    }

    /// Removes a client; nil when it no longer waits.
    mutating func take(_ number: Int) -> Completion? {
        first?.number == number ? first.take()?.done : others.removeValue(forKey: number)?.done
    }

    /// Removes all, the oldest first.
    mutating func takeAll() -> [Completion] {
        defer { (first, others, firstDeadline) = (nil, [:], nil) }
        return all.sorted { $0.number < $1.number }.map(\.done)
    }

    /// Those whose time is over. Each is to be removed.
    mutating func late(at now: Instant) -> [Int] {
        guard let due = firstDeadline, due <= now else { return [] }
        firstDeadline = all.compactMap(\.deadline).filter { $0 > now }.min()
        return all.filter { $0.deadline.map { $0 <= now } ?? false }.map(\.number)
    }

    private var all: [Client] { (first.map { [$0] } ?? []) + others.values }
}
