/// Lets one task at a time through, in the order in which they came.
@Loop
package final class Turnstile {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package nonisolated init() {}

    /// Waits until no other task is inside, and then runs `body`.
    package func pass<Value>(_ body: @Loop () async -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            if isTaken {
                waiting.append(continuation)
            } else {
                isTaken = true
                continuation.resume()
            }
        }
        let value = await body()
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
        return value
    }
}
