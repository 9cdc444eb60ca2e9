/// Work under way that can be given up.
@Loop
package protocol Cancellable: AnyObject, Sendable {
    /// Gives the work up at once: nobody is told of its end any more. Does nothing after the end.
    func cancel()
}
