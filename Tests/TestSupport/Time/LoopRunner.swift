import DNSWire
package import Platform
package import Testing

/// Runs the process's one event loop on a background thread, for the tests of every target.
///
/// Work queued on `Loop` before the loop is started would wait forever: so suites whose tests run on `@Loop` have the
/// trait `.onLoop`, which starts it first.
package final class LoopRunner: Sendable {
    /// The runner; the first access starts the thread.
    package static let shared = LoopRunner()

    /// The loop of the whole test process; never stopped.
    package let loop: EventLoop
    private let thread: NamedThread

    private init() {
        do {
            let loop = try EventLoop()
            self.loop = loop
            thread = try NamedThread("loop") { loop.run() }
        } catch {
            preconditionFailure("no event loop: \(error)")
        }
    }

    /// Runs `body` on the loop, and blocks the calling thread, which must be another one, until it is done.
    ///
    /// - Throws: what `body` throws.
    package func run<Value: Sendable>(_ body: @escaping @Sendable @Loop () async throws -> Value) throws -> Value {
        let result = Monitor<Result<Value, any Error>?>(nil)
        Loop.spawn {
            do {
                let value = try await body()
                result.withLock { $0 = .success(value) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
        }
        _ = result.waitForLoop(.patience) { $0 != nil }
        guard let outcome = result.read({ $0 }) else { throw TestFailure("the loop has not done it in time") }
        return try outcome.get()
    }
}

/// Starts the event loop before a test or a suite, and runs the test with all its child tasks on the loop's thread, as
/// `Loop.spawn` does in the daemon; needed for every `@Test @Loop`.
///
/// A test that blocks its thread while the loop works does not use it, and accesses `LoopRunner.shared` instead.
package struct OnLoop: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    @concurrent
    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        _ = LoopRunner.shared
        try await withTaskExecutorPreference(Loop.executor) { try await function() }
    }
}

extension Trait where Self == OnLoop {
    /// Starts the event loop that `@Test @Loop` bodies run on.
    package static var onLoop: Self { OnLoop() }
}
