/// Work under way that can be cancelled.
@Loop
package protocol Cancellable: AnyObject, Sendable {
    /// Cancels the work at once: its completion is not called any more. Does nothing after the end.
    func cancel()
}
