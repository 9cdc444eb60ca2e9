/// This version of the server.
enum Release {
    static let version = "0.1.0"
    /// A day before which it was not released, in seconds since 1970: 2026-11-01, 00:00 UTC. A clock that shows less cannot
    /// be right. Raised with the version.
    static let day: Int64 = 1_793_491_200
}
