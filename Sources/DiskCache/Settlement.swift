import Synchronization

/// A caller that waits until what it changed is in the file; resumed once, from any thread.
final class Settlement: Sendable {
    private let continuation: Mutex<CheckedContinuation<Bool, Never>?>

    init(_ continuation: CheckedContinuation<Bool, Never>) { self.continuation = Mutex(continuation) }

    func finish(isWritten: Bool) { continuation.withLock { $0.take() }?.resume(returning: isWritten) }
}
