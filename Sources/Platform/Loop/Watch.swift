import CSystem.Linux
public import DNSWire
import Glibc

/// The kinds of readiness of a watched descriptor.
public struct Interest: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Reading or accepting will not block.
    public static let readable = Interest(rawValue: 1)
    /// Writing will not block.
    public static let writable = Interest(rawValue: 2)

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
public final class Watch: Sendable {
    public let descriptor: Int32
    /// Distinguishes this watch's events from those of an earlier one of the same number.
    private let serial: UInt32
    private var handler: (@Loop (Interest) -> Void)?
    /// Nil once cancelled or superseded.
    private weak var table: WatchTable?
    private(set) var interest: Interest = []

    fileprivate init(
        descriptor: Int32, serial: UInt32, in table: WatchTable, handler: @escaping @Loop (Interest) -> Void
    ) {
        self.descriptor = descriptor
        self.serial = serial
        self.table = table
        self.handler = handler
    }

    /// The value that epoll returns with each event.
    fileprivate var key: UInt64 { UInt64(serial) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

    /// Whether events may still be delivered.
    public var isActive: Bool { handler != nil }

    /// Changes the interests. With an empty set nothing is delivered, not even errors; does nothing once cancelled.
    ///
    /// - Returns: false when the kernel refused, for want of memory or since too many descriptors are watched: the interests
    ///   are as before then, and another call tries again.
    @discardableResult
    public func update(_ interest: Interest) -> Bool {
        guard isActive, interest != self.interest else { return true }
        return (try? apply(interest)) != nil
    }

    /// Ends the watch: no event is delivered after this returns, not even one already fetched.
    public func cancel() {
        guard isActive else { return }
        table?.forget(self)
        retire()
    }

    /// Drops the handler, without changing epoll: the number now belongs to another watch.
    fileprivate func retire() {
        handler = nil
        table = nil
        interest = []
    }

    fileprivate func deliver(_ ready: Interest) { handler?(ready) }

    /// Sets the interests in epoll; leaves them when that fails.
    fileprivate func apply(_ wanted: Interest) throws(SystemError) {
        guard let table else { return }
        let before = interest
        interest = wanted
        if wanted.isEmpty {
            table.disarm(descriptor)
        } else {
            do {
                try table.arm(self, wasArmed: !before.isEmpty)
            } catch {
                interest = before
                throw error
            }
        }
    }
}

/// The descriptors that an event loop waits for, by epoll, and their watches.
@Loop
final class WatchTable: Sendable {
    nonisolated let epoll: Descriptor
    /// By descriptor number.
    private var watches: [Watch?] = []
    private var lastSerial: UInt32 = 0

    /// No fewer than there are watches.
    var count: Int { watches.count }

    nonisolated init() throws(SystemError) {
        epoll = Descriptor(owning: try checked(clinux_epoll_create(), "create epoll"))
    }

    /// Adds a watch, as `EventLoop.watch` says.
    func add(
        _ descriptor: Int32, for interest: Interest, _ handler: @escaping @Loop (Interest) -> Void
    ) throws(SystemError) -> Watch {
        guard descriptor >= 0 else { throw SystemError(code: EBADF, operation: "watch descriptor \(descriptor)") }
        lastSerial = lastSerial == .max - 1 ? 1 : lastSerial + 1
        let watch = Watch(descriptor: descriptor, serial: lastSerial, in: self, handler: handler)
        try watch.apply(interest)
        let index = Int(descriptor)
        while watches.count <= index { watches.append(nil) }
        watches[index]?.retire()
        watches[index] = watch
        return watch
    }

    /// Passes an event of epoll on to its watch.
    func deliver(_ event: clinux_ready) {
        // Looked up at delivery: an earlier handler may have cancelled it, or the number may have another owner now.
        let index = Int(UInt32(truncatingIfNeeded: event.key))
        guard index < watches.count, let watch = watches[index], watch.key == event.key else { return }
        // Interests that an update() in this same batch removed are left out; errors are delivered as both interests.
        let isFailure = event.events & (CLINUX_FAILED | CLINUX_HUNG_UP) != 0
        var interest = Interest(events: event.events)
        if !isFailure || watch.interest.isEmpty { interest.formIntersection(watch.interest) }
        if !interest.isEmpty { watch.deliver(interest) }
    }

    fileprivate func arm(_ watch: Watch, wasArmed: Bool) throws(SystemError) {
        let events = watch.interest.events
        func control(_ operation: Int32) -> Int32 {
            clinux_epoll_control(epoll.number, operation, watch.descriptor, events, watch.key)
        }
        var result = control(wasArmed ? CLINUX_CHANGE : CLINUX_ADD)
        // A library may have closed the descriptor and got the same number again, or have two watches of one socket.
        if result == -ENOENT { result = control(CLINUX_ADD) }
        if result == -EEXIST { result = control(CLINUX_CHANGE) }
        _ = try checked(result, "watch descriptor \(watch.descriptor)")
    }

    /// Removes the descriptor; closed ones are removed by the kernel, so errors mean nothing.
    fileprivate func disarm(_ descriptor: Int32) {
        _ = clinux_epoll_control(epoll.number, CLINUX_REMOVE, descriptor, 0, 0)
    }

    fileprivate func forget(_ watch: Watch) {
        let index = Int(watch.descriptor)
        guard index < watches.count, watches[index] === watch else { return }
        watches[index] = nil
        if !watch.interest.isEmpty { disarm(watch.descriptor) }
    }
}
