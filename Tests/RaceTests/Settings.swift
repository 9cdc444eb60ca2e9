import Glibc

/// What the environment says of the tests here.
enum Settings {
    /// The most states of a world that are visited.
    static let states = number("HTTPDNSD_STATES") ?? 40

    private static func number(_ name: String) -> Int? {
        getenv(name).flatMap { Int(String(cString: $0)) }
    }
}
