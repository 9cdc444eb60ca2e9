import CSystem.Linux
public import DNSWire
import Glibc
import Synchronization

/// The event loop, one thread, which waits for descriptors (epoll), timers (one timerfd) and other threads (one
/// eventfd).
///
/// A turn is: wait, read the clock, take a bounded part of what other threads posted, deliver ready descriptors, run due
/// timers, run the jobs of `Loop.executor`, and then the work deferred to the turn's end. Without work it blocks
/// with no time-out at all, so an idle process is never woken.
@Loop
@safe public final class EventLoop: LoopClock {
    /// Keys of our own two descriptors; a watch's key has a serial below `UInt32.max` in its upper half.
    private nonisolated static let wakeKey = UInt64.max
    private nonisolated static let timerKey = UInt64.max - 1

    /// The interface of this loop for other threads.
    public nonisolated let waker: LoopWaker
    private nonisolated let watches: WatchTable
    private nonisolated let timer: Descriptor
    private nonisolated(unsafe) let ready: UnsafeMutablePointer<clinux_ready>

    /// The present time on CLOCK_BOOTTIME, read once per turn.
    public var now: Instant { turnBegan }
    /// Private, and read through `now`: so the compiler sees every access, and the runtime has none to check.
    private var turnBegan: Instant
    /// How often the loop has returned from waiting, since it started.
    public var turns: UInt64 { turnCount }
    private var turnCount: UInt64 = 0
    private var timers = TimerQueue()
    /// When the earliest timer is due, as last determined; nil: there is none.
    private var nextDue: Instant?
    /// The time for which the timerfd is set; nil: it is off.
    private var armed: Instant?
    /// The work done in every turn.
    private var habits: [Habit] = []
    /// The work deferred to the end of this turn, and the buffer for the next one.
    private var endings: [Ending] = []
    private var spareEndings: [Ending] = []

    /// Work deferred to a turn's end. As bare functions in an array each would take twice the memory.
    private struct Ending {
        let act: @Loop () -> Void
    }

    /// Work done in every turn, and whether there is more of it.
    private struct Habit {
        let act: @Loop () -> Void
        let hasMore: @Loop () -> Bool
    }

    /// Creates the descriptors; watches and timers may be set before `run()`.
    public nonisolated init() throws(SystemError) {
        waker = try LoopWaker()
        watches = try WatchTable()
        timer = Descriptor(owning: try checked(clinux_timerfd_create(), "create timerfd"))
        unsafe ready = .allocate(capacity: Int(CLINUX_READY_MAX))
        turnBegan = .bootTime
        // Edge-triggered: each post or expiry is one event, and neither counter is ever read.
        for (descriptor, key) in [(waker.descriptor, Self.wakeKey), (timer.number, Self.timerKey)] {
            _ = try checked(
                clinux_epoll_control(
                    watches.epoll.number, CLINUX_ADD, descriptor, CLINUX_READABLE | CLINUX_EDGE, key),
                "watch own descriptor")
        }
    }

    deinit { unsafe ready.deallocate() }

    /// Makes the calling thread the loop's and runs the loop until `stop()`. Once in the life of a process.
    public nonisolated func run() {
        waker.adoptCurrentThread()
        Loop.executor.attach(waker)
        Loop.assumeIsolated {
            var hasJobs = endTurn(hasJobs: Loop.executor.runJobs())
            while !waker.isStopping { hasJobs = turn(hasJobs: hasJobs) }
        }
    }

    /// Makes `run()` return after the current turn. May be called from any thread; safe in a signal handler.
    public nonisolated func stop() { waker.stop() }

    public func schedule(at instant: Instant, _ body: @escaping @Loop () -> Void) -> LoopTimer {
        let timer = LoopTimer(body)
        timers.add(timer, at: instant)
        return timer
    }

    /// Calls `handler` on the loop whenever `descriptor` is ready for something of `interest`, until the watch is
    /// cancelled.
    ///
    /// Any pollable descriptor is allowed, also one owned by a C library, and another epoll. An older watch of the same
    /// number ends: its descriptor must have been closed. Errors and hang-ups are delivered as both interests.
    /// - Throws: `EPERM` for a regular file, `EBADF` for an invalid number, `ENOSPC`, `ENOMEM`.
    public func watch(
        _ descriptor: Int32, for interest: Interest, _ handler: @escaping @Loop (Interest) -> Void
    ) throws(SystemError) -> Watch {
        try watches.add(descriptor, for: interest, handler)
    }

    /// Calls `work` once, after all other work of this turn and before the loop waits again: for work that is cheaper
    /// done once for many items. Work deferred from within `work` runs at the end of the next turn, which does not
    /// wait.
    public func atTurnEnd(_ work: @escaping @Loop () -> Void) { endings.append(Ending(act: work)) }

    /// Calls `act` in every turn, before ready descriptors are delivered. While `hasMore` is true at the turn's end,
    /// the next turn does not wait. For mailboxes.
    public func inEachTurn(_ act: @escaping @Loop () -> Void, hasMore: @escaping @Loop () -> Bool) {
        habits.append(Habit(act: act, hasMore: hasMore))
        // Values posted before had no receiver.
        waker.wake()
    }

    // MARK: A turn

    /// Waits unless there is work, then handles what has become ready. Returns whether jobs were left over.
    private func turn(hasJobs: Bool) -> Bool {
        let mayBlock = armTimer() && !hasJobs
        let count = wait(mayBlock: mayBlock)
        turnCount &+= 1
        turnBegan = .bootTime
        // Queries before responses: the query for a name's second address family is read before the first one is
        // answered NXDOMAIN.
        for habit in habits { habit.act() }
        deliver(count)
        fireTimers()
        return endTurn(hasJobs: Loop.executor.runJobs())
    }

    /// Returns how many descriptors are ready, none when a signal arrived.
    private func wait(mayBlock: Bool) -> Int {
        let count = unsafe clinux_epoll_wait(watches.epoll.number, ready, mayBlock ? -1 : 0)
        precondition(count >= 0 || count == -EINTR, "epoll_wait: error \(-count)")
        return max(0, Int(count))
    }

    /// Does the work deferred to the turn's end. Returns whether the next turn has work already.
    private func endTurn(hasJobs: Bool) -> Bool {
        var isUnfinished = hasJobs
        if !endings.isEmpty {
            swap(&endings, &spareEndings)
            for ending in spareEndings { ending.act() }
            spareEndings.removeAll(keepingCapacity: true)
            isUnfinished = !endings.isEmpty || Loop.executor.hasJobs
        }
        return isUnfinished || habits.contains { $0.hasMore() }
    }

    private func deliver(_ count: Int) {
        for index in 0..<count {
            let event = unsafe ready[index]
            switch event.key {
            case Self.wakeKey: break
            case Self.timerKey: armed = nil
            default: watches.deliver(event)
            }
        }
    }

    /// Runs the timers found due before the loop waited, or that have become due meanwhile; before them goes what is in the
    /// sockets by now: it came while the process was stopped, or at work.
    private func fireTimers() {
        guard let nextDue, nextDue <= turnBegan else { return }
        var (count, left) = (0, watches.count)
        repeat {
            count = wait(mayBlock: false)
            deliver(count)
            left -= count
        } while count == CLINUX_READY_MAX && left > 0
        let bound = timers.nextSerial
        while let timer = timers.popDue(at: turnBegan, before: bound) { timer.fire() }
    }

    /// Sets the timerfd for the earliest timer. Returns whether the loop may block: no timer is due already.
    ///
    /// When it is set for an earlier time than needed it is left so: one needless wake-up costs less than a system call
    /// for every timer that is cancelled. Without timers it is switched off.
    private func armTimer() -> Bool {
        nextDue = timers.nextDue()
        guard let due = nextDue else {
            if armed.take() != nil { _ = clinux_timerfd_arm(timer.number, 0) }
            return true
        }
        guard due > turnBegan else { return false }
        // Without a closure, as in TimerQueue.
        if let armed, armed <= due { return true }
        _ = clinux_timerfd_arm(timer.number, due.nanoseconds)
        armed = due
        return true
    }
}

extension Loop {
    /// Runs `operation` at once, given that the caller already is on the loop's thread: for C callbacks.
    ///
    /// Stops the process when that is not so. Pointers that a callback received from C are not `Sendable`: rebind them
    /// as `nonisolated(unsafe) let` before they are captured.
    public nonisolated static func assumeIsolated<Value: Sendable>(
        _ operation: @Loop () throws -> Value
    ) rethrows -> Value {
        // The runtime's own check asks a queue behind a lock; on any other thread it stops the process.
        if !LoopWaker.isOnLoopThread { shared.preconditionIsolated() }
        // Isolation is part of the type only; the calling convention of a synchronous function is the same.
        return try withoutActuallyEscaping(operation) { operation in
            unsafe try unsafeBitCast(operation, to: (() throws -> Value).self)()
        }
    }
}

extension Duration {
    /// As the time limit of poll(2), in milliseconds, rounded up. Of what is over it is 0: a negative one would be for ever.
    public var pollTimeout: Int32 {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return Int32(clamping: max(0, rest > 0 ? whole + 1 : whole))
    }
}

/// An event counter that wakes a waiting thread; a post while no thread waits is not lost.
public struct EventCounter: ~Copyable, Sendable {
    fileprivate let descriptor: Descriptor

    /// - Throws: when the limit of descriptors is reached.
    public init() throws(SystemError) {
        descriptor = Descriptor(owning: try checked(clinux_eventfd_create(), "create eventfd"))
    }

    /// Increments the counter. May be called from any thread; never waits.
    public func post() { _ = clinux_eventfd_post(descriptor.number) }

    /// Waits until the counter was incremented since the last call, or a signal arrived. Blocks its thread.
    ///
    /// - Parameter limit: the longest wait; nil: unlimited.
    public func wait(atMost limit: Duration? = nil) {
        var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&entry, 1, limit?.pollTimeout ?? -1) > 0 else { return }
        var count: UInt64 = 0
        _ = unsafe read(descriptor.number, &count, MemoryLayout<UInt64>.size)
    }
}

/// The part of the event loop for other threads: they can wake it, stop it, and check whether they are its thread.
public final class LoopWaker: LoopThread {
    private let event: EventCounter
    /// `pthread_self` of the running thread; 0 before it runs.
    private let thread = Atomic<UInt>(0)
    private let stopping = Atomic<Bool>(false)
    /// The thread of the process's one loop; 0 before it runs.
    private static let loopThread = Atomic<UInt>(0)

    init() throws(SystemError) {
        event = try EventCounter()
    }

    /// The counter that becomes readable at a wake-up; watched edge-triggered, so it is never read.
    var descriptor: Int32 { event.descriptor.number }

    public func wake() { event.post() }

    public func isCurrent() -> Bool { thread.load(ordering: .relaxed) == currentThread() }

    /// Makes the calling thread the loop's.
    func adoptCurrentThread() {
        thread.store(currentThread(), ordering: .relaxed)
        Self.loopThread.store(currentThread(), ordering: .relaxed)
    }

    /// Whether the caller runs on the thread of a running loop: the fast check, for callbacks.
    static var isOnLoopThread: Bool { loopThread.load(ordering: .relaxed) == currentThread() }

    var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Ends `EventLoop.run()` after the current turn. May be called from any thread; safe in a signal handler.
    public func stop() {
        stopping.store(true, ordering: .releasing)
        wake()
    }
}

/// Identifies the calling thread among the running ones; never 0.
private func currentThread() -> UInt { UInt(pthread_self()) }

extension Instant {
    /// The present time on CLOCK_BOOTTIME. May be called from any thread; costs no system call.
    public static var bootTime: Instant {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
