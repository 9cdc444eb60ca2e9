/// An event of the disk cache that is reported to the operator.
package enum DiskEvent: Equatable, Sendable {
    /// The file cannot be used; answers are cached in memory only from now on.
    case unavailable(reason: String)
    /// The file is used again.
    case back
    /// The file was damaged or invalid, and a new one was started.
    ///
    /// - Parameter path: its new path; nil when it could not be renamed.
    case quarantined(path: String?, reason: String)
    /// The answers of the previous run are in memory.
    ///
    /// - Parameter isComplete: false when memory has no room for all: the others are read when they are queried.
    case loaded(count: Int, isComplete: Bool)
}
