/// What an operator is told of the disk.
package enum DiskEvent: Equatable, Sendable {
    /// Answers are kept in memory alone from now on.
    case unavailable(reason: String)
    /// They are written again.
    case back
    /// The file was not what it should be, and another one was begun.
    ///
    /// - Parameter path: where it is now; nil when it could not be renamed.
    case setAside(path: String?, reason: String)
    /// The answers of the last time are in memory.
    ///
    /// - Parameter isComplete: false when memory has no room for all: the others are read when they are asked for.
    case loaded(count: Int, isComplete: Bool)
}
