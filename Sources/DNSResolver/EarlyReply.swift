import Scheduling

/// What one type of a question for both families has come to, while the other is still asked for: told once, to one who
/// waits.
@Loop
final class EarlyReply: Sendable {
    private var waiter: CheckedContinuation<ProviderSelector.Reply?, Never>?
    private var reply: ProviderSelector.Reply?
    private var isClosed = false

    nonisolated init() {}

    /// Tells what is known; only the first time counts.
    func tell(_ reply: ProviderSelector.Reply) {
        guard !isClosed else { return }
        self.reply = reply
        close()
    }

    /// Nothing more will be told.
    func close() {
        isClosed = true
        waiter.take()?.resume(returning: reply)
    }

    /// Waits until something was told, or nothing will be: then nil.
    func wait() async -> ProviderSelector.Reply? {
        await withCheckedContinuation { continuation in
            if isClosed { continuation.resume(returning: reply) } else { waiter = continuation }
        }
    }
}
