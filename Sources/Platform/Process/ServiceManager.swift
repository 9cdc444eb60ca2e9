import CLinux
import Glibc

/// The service manager that started us (systemd); receives our state by sd_notify(3), as `Type=notify` requires.
package struct ServiceManager: Sendable {
    /// The states that can be reported.
    package enum State: Sendable {
        /// Serving: units that depend on us may start. Also ends `reloading`.
        case ready
        /// Reading the configuration again.
        case reloading
        /// Shutting down.
        case stopping

        /// The lines that are sent.
        fileprivate var message: String {
            switch self {
            case .ready: "READY=1"
            // Type=notify-reload needs the time of this message.
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(Self.microseconds)"
            case .stopping: "STOPPING=1"
            }
        }

        private static var microseconds: Int64 {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        }
    }

    private let path: String

    /// - Parameter path: the value of the environment variable `NOTIFY_SOCKET`: a path, or `@` and the name of an
    ///   abstract socket. Returns nil for nil or another form of address: there is no service manager.
    package init?(path: String?) {
        guard let path, path.hasPrefix("/") || path.hasPrefix("@"), path.utf8.count > 1 else { return nil }
        self.path = path
    }

    /// Sends a state, without waiting.
    ///
    /// - Throws: when the manager cannot be reached.
    package func tell(_ state: State) throws(SystemError) {
        _ = try checked(clinux_notify(path, state.message), "tell the service manager at \(path)")
    }
}
