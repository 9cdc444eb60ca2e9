import Platform
import Scheduling

/// What a connection has from its start to its end whatever it speaks: its watch, the time at which it is closed, its part
/// of the bytes that all connections hold.
@Loop
struct ConnectionLife {
    /// What a connection waits for.
    enum Phase {
        /// The client, to take responses.
        case reading
        /// The resolver or a service.
        case answering
        /// The client, to ask.
        case idle
    }

    private(set) var isClosed = false
    var watch: Watch?
    private var timer: LoopTimer?
    /// When the last whole query arrived, or the last response became ready. Bytes of an unfinished query do not count.
    private(set) var lastActivity: Instant
    /// When the client last received part of its responses.
    private var lastProgress: Instant
    /// Bytes added to those of all connections.
    private(set) var held = 0

    init(at now: Instant) { (lastActivity, lastProgress) = (now, now) }

    mutating func noteActivity(at now: Instant) { lastActivity = now }

    mutating func noteProgress(at now: Instant) { lastProgress = now }

    /// When a connection is closed that stays in its phase.
    func due(in phase: Phase, _ owner: Connections) -> Instant {
        switch phase {
        case .reading: lastProgress + owner.limits.stall
        case .answering: owner.loop.now + owner.limits.idle
        case .idle: lastActivity + owner.limits.idle
        }
    }

    /// Has `check` called when the connection may be due.
    mutating func setTimer(at due: Instant, _ owner: Connections, _ check: @escaping @Loop () -> Void) {
        // One timer that checks again costs less than one rescheduled by every query. It fires no later than the end of
        // a stall that begins now.
        timer = owner.loop.schedule(at: min(due, owner.loop.now + owner.limits.stall), check)
    }

    /// Notes the bytes that the connection holds now. Returns how many more than before, which are to be booked.
    mutating func hold(_ bytes: Int) -> Int {
        defer { held = bytes }
        return bytes - held
    }

    /// Ends watch, stream, timer and booking.
    ///
    /// - Returns: whether they had not ended before.
    mutating func end(_ stream: any ByteStream, _ owner: Connections) -> Bool {
        guard !isClosed else { return false }
        isClosed = true
        watch?.cancel()
        watch = nil
        stream.close()
        timer?.cancel()
        timer = nil
        owner.release(held)
        held = 0
        return true
    }
}
