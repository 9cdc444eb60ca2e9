/// A scheduled call; cancelling one that has run, or twice, does nothing.
@Loop
package final class LoopTimer: Sendable {
    /// The work still to be done; nil once run or cancelled, so that nothing it holds outlives it.
    private var body: (@Loop () -> Void)?

    package init(_ body: @escaping @Loop () -> Void) { self.body = body }

    package var isPending: Bool { body != nil }

    package func cancel() { body = nil }

    /// Runs the work if it is still wanted. For clocks.
    package func fire() { body.take()?() }
}
