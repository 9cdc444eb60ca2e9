/// Why the clock cannot be right.
package enum ClockDoubt: Hashable, Sendable {
    /// It is before the release.
    case beforeRelease
    /// A service's time differs by this many seconds; more than 0: it is ahead of this host's.
    case service(String, ahead: Int64)
}

extension ClockDoubt: CustomStringConvertible {
    /// One sentence without its subject: "the clock ...".
    package var description: String {
        switch self {
        case .beforeRelease: "is before this version was released"
        case .service(let provider, let ahead):
            "is \(ahead.magnitude) s \(ahead < 0 ? "ahead of" : "behind") that of \(provider)"
        }
    }
}
