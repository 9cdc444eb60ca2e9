/// The backoff of something that fails: how long it is not used, with one probe at a time to detect that it works
/// again.
///
/// The first failure begins a pause, and each failed probe after it doubles the pause up to the longest one. One
/// success ends it. The only health state: addresses, accounts and scheduling calls of providers, servers of LocalDNS,
/// addresses whose certificates are checked, the look-up of the network's prefix, the file of the cache, and the collector
/// of dnstap have one each.
public struct Backoff: Sendable {
    /// Where nothing else is left to ask, a probe may begin after this part of the pause ...
    private static let urgentPart = 4
    /// ... and after this time at the latest: every client waits for it, and a probe costs one request.
    private static let longestUrgentPause: Duration = .seconds(1)

    private let pauses: ClosedRange<Duration>
    private var pause: Duration
    /// When the next probe may begin; nil while there is no backoff.
    public private(set) var nextProbe: Instant?
    /// The same where nothing else is left to ask.
    public private(set) var nextUrgentProbe: Instant?
    /// The number of the probe under way; nil: none.
    private var probe: Int?

    /// - Parameter pauses: the first and the longest pause. Default: those of what clients' questions wait for
    ///   (Documentation/Strategy.md, section 6).
    public init(_ pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(30))) {
        self.pauses = pauses
        pause = pauses.lowerBound
    }

    /// Whether there has been a failure without a success since.
    public var isActive: Bool { nextProbe != nil }

    public var isProbing: Bool { probe != nil }

    /// Whether a probe may begin.
    ///
    /// - Parameter isUrgent: whether nothing else is left to ask.
    public func isDue(at now: Instant, isUrgent: Bool) -> Bool {
        guard !isProbing, let due = isUrgent ? nextUrgentProbe : nextProbe else { return false }
        return now >= due
    }

    /// - Parameter number: unique among probes.
    public mutating func probeBegan(_ number: Int) { probe = number }

    /// Called when a probe ended, whatever its result. A probe older than the one under way changes nothing.
    public mutating func probeEnded(_ number: Int) {
        if probe == number { probe = nil }
    }

    public mutating func succeeded() { self = Backoff(pauses) }

    /// Called when a probe failed.
    ///
    /// - Parameter notBefore: the earliest retry that the server asked for, where something else is left.
    /// - Returns: the pause that begins.
    @discardableResult
    public mutating func failed(at now: Instant, notBefore: Instant? = nil) -> Duration {
        let taken = notBefore.map { max(pause, $0 - now) } ?? pause
        nextProbe = now + taken
        nextUrgentProbe = now + min(pause / Self.urgentPart, Self.longestUrgentPause)
        pause = min(pause * 2, pauses.upperBound)
        return taken
    }
}

/// Combines a burst of calls into one, once they have stopped for a moment.
///
/// Sets a timer only after a call.
@Loop
public final class Debounce {
    private let quiet: Duration
    private let longest: Duration
    private let clock: any LoopClock
    private let body: @Loop () -> Void
    private var first: Instant?
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - quiet: how long there must be no call.
    ///   - longest: the most time from the first call until `body`, however many calls there are.
    public nonisolated init(
        quiet: Duration, longest: Duration, clock: any LoopClock, _ body: @escaping @Loop () -> Void
    ) {
        self.quiet = quiet
        self.longest = longest
        self.clock = clock
        self.body = body
    }

    public func touch() {
        let began = first ?? clock.now
        first = began
        timer?.cancel()
        timer = clock.schedule(at: min(clock.now + quiet, began + longest)) { [weak self] in
            self?.first = nil
            self?.body()
        }
    }
}

/// Lets one task at a time through, in the order in which they came.
@Loop
public final class Turnstile {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    public nonisolated init() {}

    /// Waits until no other task is inside, and then runs `body`.
    public func pass<Value>(_ body: @Loop () async -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            if isTaken {
                waiting.append(continuation)
            } else {
                isTaken = true
                continuation.resume()
            }
        }
        let value = await body()
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
        return value
    }
}
