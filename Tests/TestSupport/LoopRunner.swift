package import Platform
import Glibc
import Synchronization
package import Testing

/// Runs the process's one event loop on a background thread, for the tests of every target.
///
/// What is queued on `Loop` before it started simply waits, and it would wait for ever: so suites whose tests run on
/// `@Loop` carry the trait `.onLoop`, which starts it first.
package final class LoopRunner: Sendable {
    /// The runner; the first access starts the thread.
    package static let shared = LoopRunner()

    /// The loop of the whole test process; never stopped.
    package let loop: EventLoop

    private init() {
        do {
            loop = try EventLoop()
        } catch {
            preconditionFailure("no event loop: \(error)")
        }
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(loop).toOpaque()
        let result = pthread_create(&thread, nil, runLoop, argument)
        precondition(result == 0, "no thread: error \(result)")
        pthread_detach(thread)
    }
}

/// Body of the loop's thread; at file scope, for C calls it where no actor is.
private func runLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<EventLoop>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}

/// Starts the event loop before a test or a suite; needed wherever `@Test @Loop` stands.
package struct OnLoop: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    @concurrent
    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        _ = LoopRunner.shared
        try await function()
    }
}

extension Trait where Self == OnLoop {
    /// Starts the event loop that `@Test @Loop` bodies run on.
    package static var onLoop: Self { OnLoop() }
}
