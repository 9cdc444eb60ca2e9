import DNSWire
import Platform

/// How old a connection is, and what its other end has shown of being alive.
///
/// A connection that is silent while requests wait is tested: a slow service answers the test, so they stay; a dead one does
/// not, and they are sent again.
struct ConnectionLife {
    private static let longestPatience = HTTPLimits.silence * 2

    /// When it was begun to be made.
    private let began: Instant
    /// When anything was last received, or the first of its requests was added.
    private(set) var heard: Instant
    /// Since when a sign of life is awaited; nil: none is.
    private var asked: Instant?
    /// How long nothing may come after that. While the connection is being made it is the longest: another one would hardly be
    /// made sooner.
    private var patience = longestPatience

    init(since now: Instant) { (began, heard) = (now, now) }

    /// The connection is made, in some round trips: on a long way a sign of life may take as long as these.
    mutating func connectionMade(at now: Instant) {
        patience = max(HTTPLimits.silence, min(now - began, Self.longestPatience))
    }

    /// Requests are added again.
    mutating func requestsBegin(at now: Instant) { heard = now }

    /// The other end has shown that it lives.
    mutating func hear(at now: Instant) { (heard, asked) = (now, nil) }

    /// Notes that the other end is asked for a sign of life. Returns false when it was already.
    mutating func ask() -> Bool {
        guard asked == nil else { return false }
        // Not the turn's beginning, which may be long ago on a busy machine.
        asked = .bootTime
        return true
    }

    /// Whether the connection has been unused, or has existed, for so long that no further request is sent on it.
    func isWorn(isIdle: Bool, at now: Instant) -> Bool {
        isIdle && now - heard >= .seconds(HTTPLimits.connectionIdle)
            || now - began >= .seconds(HTTPLimits.connectionLifetime)
    }

    /// Whether the other end is to be asked for a sign of life.
    func isTestDue(at now: Instant) -> Bool { asked == nil && now - heard >= HTTPLimits.test }

    /// Whether nothing has come for as long as a test and its answer take.
    func isSilent(at now: Instant) -> Bool { now - heard >= HTTPLimits.test + HTTPLimits.silence }

    /// Whether a sign of life should have come.
    func isOverdue(at now: Instant) -> Bool { asked.map { now - $0 >= patience } ?? false }

    /// When this may change.
    func nextLook(at now: Instant) -> Instant {
        if let asked { return asked + patience }
        let due = heard + HTTPLimits.test
        return due > now ? due : now + HTTPLimits.silence
    }
}
