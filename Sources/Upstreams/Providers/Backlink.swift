import Synchronization

/// A way back to an object from what it owns, open until that object goes.
///
/// A weak reference would do, and make all others dearer: an object that ever had one keeps its reference count apart, and
/// each copy of a reference to it takes a slower way. Whoever is pointed to calls `cut()` in its `deinit`, and is let go of
/// where the link is used, on the loop.
final class Backlink<Object: AnyObject & Sendable>: Sendable {
    private struct Target: Sendable {
        unowned var object: Object?
    }

    private let target = Mutex(Target())

    /// Nil before it is set, and once it is cut.
    var object: Object? {
        get { target.withLock { $0.object } }
        set { target.withLock { $0.object = newValue } }
    }

    func cut() { object = nil }
}
