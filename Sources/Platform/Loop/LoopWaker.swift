import CLinux
import Glibc
import Scheduling
import Synchronization

/// The part of the event loop for other threads: they can wake it, stop it, and check whether they are its thread.
package final class LoopWaker: LoopThread {
    private let event: Descriptor
    /// `pthread_self` of the running thread; 0 before it runs.
    private let thread = Atomic<UInt>(0)
    private let stopping = Atomic<Bool>(false)
    /// The thread of the process's one loop; 0 before it runs.
    private static let loopThread = Atomic<UInt>(0)

    init() throws(SystemError) {
        event = Descriptor(owning: try checked(clinux_eventfd_create(), "create eventfd"))
    }

    /// The counter that becomes readable at a wake-up; watched edge-triggered, so it is never read.
    var descriptor: Int32 { event.number }

    package func wake() { _ = clinux_eventfd_post(event.number) }

    package func isCurrent() -> Bool { thread.load(ordering: .relaxed) == currentThread() }

    /// Makes the calling thread the loop's.
    func adoptCurrentThread() {
        thread.store(currentThread(), ordering: .relaxed)
        Self.loopThread.store(currentThread(), ordering: .relaxed)
    }

    /// Whether the caller runs on the thread of a running loop: the fast check, for callbacks.
    static var isOnLoopThread: Bool { loopThread.load(ordering: .relaxed) == currentThread() }

    var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Ends `EventLoop.run()` after the current turn. May be called from any thread; safe in a signal handler.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        wake()
    }
}

/// Identifies the calling thread among the running ones; never 0.
private func currentThread() -> UInt { UInt(pthread_self()) }
