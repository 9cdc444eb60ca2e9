import Synchronization

/// A caller that waits for a look-up on disk; resumed once, from any thread.
final class Recall: Sendable {
    /// The bytes of a `QueryKey`; none for a caller that waits for the loading.
    let key: [UInt8]
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(key: [UInt8], _ continuation: CheckedContinuation<Void, Never>) {
        self.key = key
        self.continuation = Mutex(continuation)
    }

    func finish() { continuation.withLock { $0.take() }?.resume() }
}
