import Synchronization

/// A reference from an owned object back to its owner, valid until the owner is deinitialized.
///
/// Used instead of a weak reference, which would make every other reference dearer: an object that ever had one has
/// its reference count in a side table, and each copy of a reference takes a slower path. The owner calls `cut()` in
/// its `deinit`; its last reference is released on the loop, where the link is used.
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
