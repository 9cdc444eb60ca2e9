import CSystem.Linux
package import Scheduling

/// The kinds of readiness of a watched descriptor.
package struct Interest: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Reading or accepting will not block.
    package static let readable = Interest(rawValue: 1)
    /// Writing will not block.
    package static let writable = Interest(rawValue: 2)

    /// Converts epoll's bits; an error or a hang-up counts as both, since either call will then report it.
    init(events: UInt32) {
        var interest: Interest = []
        if events & (CLINUX_READABLE | CLINUX_FAILED | CLINUX_HUNG_UP) != 0 { interest.insert(.readable) }
        if events & (CLINUX_WRITABLE | CLINUX_FAILED | CLINUX_HUNG_UP) != 0 { interest.insert(.writable) }
        self = interest
    }

    var events: UInt32 {
        (contains(.readable) ? CLINUX_READABLE : 0) | (contains(.writable) ? CLINUX_WRITABLE : 0)
    }
}

/// One descriptor that the event loop waits for, level-triggered, until `cancel()`.
///
/// The loop retains the watch, and with it the handler; releasing the reference cancels nothing. The descriptor belongs
/// to its owner: the watch never closes it, and may be cancelled before or after it was closed.
@Loop
package final class Watch: Sendable {
    package let descriptor: Int32
    /// Distinguishes this watch's events from those of an earlier one of the same number.
    let serial: UInt32
    private var handler: (@Loop (Interest) -> Void)?
    /// Nil once cancelled or superseded.
    private weak var loop: EventLoop?
    private(set) var interest: Interest = []

    init(
        descriptor: Int32, serial: UInt32, loop: EventLoop, handler: @escaping @Loop (Interest) -> Void
    ) {
        self.descriptor = descriptor
        self.serial = serial
        self.loop = loop
        self.handler = handler
    }

    /// The value that epoll returns with each event.
    var key: UInt64 { UInt64(serial) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

    /// Whether events may still be delivered.
    package var isActive: Bool { handler != nil }

    /// Changes the interests. With an empty set nothing is delivered, not even errors; does nothing once cancelled.
    ///
    /// - Returns: false when the kernel refused, for want of memory or since too many descriptors are watched: the interests
    ///   are as before then, and another call tries again.
    @discardableResult
    package func update(_ interest: Interest) -> Bool {
        guard isActive, interest != self.interest else { return true }
        return (try? apply(interest)) != nil
    }

    /// Ends the watch: no event is delivered after this returns, not even one already fetched.
    package func cancel() {
        guard isActive else { return }
        loop?.forget(self)
        retire()
    }

    /// Drops the handler, without changing epoll: the number now belongs to another watch.
    func retire() {
        handler = nil
        loop = nil
        interest = []
    }

    func deliver(_ ready: Interest) { handler?(ready) }

    /// Sets the interests in epoll; leaves them when that fails.
    func apply(_ wanted: Interest) throws(SystemError) {
        guard let loop else { return }
        let before = interest
        interest = wanted
        if wanted.isEmpty {
            loop.disarm(descriptor)
        } else {
            do {
                try loop.arm(self, wasArmed: !before.isEmpty)
            } catch {
                interest = before
                throw error
            }
        }
    }
}
