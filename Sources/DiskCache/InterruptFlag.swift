import Synchronization

/// Ends a long statement from another thread. Outlives the connection that it is given to.
final class InterruptFlag: Sendable {
    private let raised = Atomic<Bool>(false)

    init() {}

    func raise() { raised.store(true, ordering: .relaxed) }

    var isRaised: Bool { raised.load(ordering: .relaxed) }
}

/// Called by SQLite now and then; at file scope, for C calls it where no actor is.
func isInterrupted(_ flag: UnsafeMutableRawPointer?) -> Int32 {
    guard let flag else { return 0 }
    return Unmanaged<InterruptFlag>.fromOpaque(flag).takeUnretainedValue().isRaised ? 1 : 0
}
