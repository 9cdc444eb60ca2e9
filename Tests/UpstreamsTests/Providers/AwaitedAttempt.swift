import DNSResolver
import DNSWire
import Scheduling

extension Endpoint {
    /// Makes one attempt and waits for its result; ends at once when the task is cancelled.
    func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
        let attempt = AwaitedAttempt()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                attempt.continuation = continuation
                guard !Task.isCancelled else { return attempt.cancel(question.types) }
                attempt.work = begin(question, delayed: {}) { attempt.finish($0) }
            }
        } onCancel: {
            // Runs on any thread, also inside a C callback: only enqueue.
            Loop.spawn { attempt.cancel(question.types) }
        }
    }
}

/// One attempt that a task waits for.
@Loop
private final class AwaitedAttempt {
    var continuation: CheckedContinuation<UpstreamReply, Never>?
    var work: (any Cancellable)?

    nonisolated init() {}

    func finish(_ reply: UpstreamReply) {
        work = nil
        continuation.take()?.resume(returning: reply)
    }

    func cancel(_ types: [RecordType]) {
        work.take()?.cancel()
        finish(UpstreamReply(failure: .cancelled, types: types))
    }
}
