import CSystem.Linux
import DNSWire
import Glibc

/// The service manager that started us (systemd); receives our state by sd_notify(3), as `Type=notify` requires.
public final class ServiceManager: Sendable {
    /// The states that can be reported.
    public enum State: Sendable {
        /// Serving: units that depend on us may start. Also ends `reloading`.
        case ready
        /// Reading the configuration again.
        case reloading
        /// Shutting down.
        case stopping
        /// A sign of life, for a manager that watches.
        case alive

        /// The lines that are sent.
        fileprivate var message: String {
            switch self {
            case .ready: "READY=1"
            // Type=notify-reload needs the time of this message.
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(Self.microseconds)"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            }
        }

        private static var microseconds: Int64 {
            var time = timespec()
            unsafe clock_gettime(CLOCK_MONOTONIC, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        }
    }

    /// Within which the time between two signs of life is taken to be, whatever the manager says.
    private static let watchdogRange: ClosedRange<Duration> = .milliseconds(100) ... .seconds(3_600)

    /// Where messages go: a path, or `@` and the name of an abstract socket.
    private let path: String

    /// - Parameter path: the value of the environment variable `NOTIFY_SOCKET`: a path, or `@` and the name of an
    ///   abstract socket. Returns nil for nil or another form of address: there is no service manager.
    public init?(path: String?) {
        guard let path, path.hasPrefix("/") || path.hasPrefix("@"), path.utf8.count > 1 else { return nil }
        self.path = path
    }

    /// The longest time between two signs of life, 100 ms to 1 h; nil when the manager does not watch this process.
    ///
    /// - Parameter environment: with `WATCHDOG_USEC` and `WATCHDOG_PID` as in sd_watchdog_enabled(3).
    public static func watchdog(_ environment: [String: String]) -> Duration? {
        guard let text = environment["WATCHDOG_USEC"], let limit = Int64(text), limit > 0,
            environment["WATCHDOG_PID"].map({ Int32($0) == getpid() }) ?? true
        else { return nil }
        return min(max(.microseconds(limit), watchdogRange.lowerBound), watchdogRange.upperBound)
    }

    /// How many descriptors the manager keeps for the next process (its fd store), 0 to 65,536; 0 when it keeps none.
    ///
    /// - Parameter environment: with `FDSTORE`, which systemd sets since version 254, and our unit before.
    public static func storeSize(_ environment: [String: String]) -> Int {
        min(max(environment["FDSTORE"].flatMap { Int($0) } ?? 0, 0), PassedDescriptor.limit)
    }

    /// Sends a state, without waiting.
    ///
    /// - Throws: when the manager cannot be reached.
    public func tell(_ state: State) throws(SystemError) { try send(state.message) }

    /// Has the manager keep these descriptors, and pass them to the next process under this name. Those that it has
    /// already are stored once.
    ///
    /// - Throws: when the manager cannot be reached within 1 s.
    public func store(_ descriptors: [Int32], as name: String) throws(SystemError) {
        for (message, part) in storing(descriptors, as: name) { try send(message, part) }
    }

    /// Has the manager close what it keeps under this name.
    public func discard(_ name: String) throws(SystemError) { try send("FDSTOREREMOVE=1\nFDNAME=\(name)") }

    /// Waits until the manager has come to this message, at most 1 s.
    ///
    /// - Throws: when it cannot be reached.
    public func synchronize() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .last("make a pipe") }
        let reading = Descriptor(owning: ends[0])
        do {
            let writing = Descriptor(owning: ends[1])
            try send("BARRIER=1", [writing.number])
        }
        // The manager closes its end when it comes to the message.
        var closed = pollfd(fd: reading.number, events: 0, revents: 0)
        _ = unsafe poll(&closed, 1, 1_000)
    }

    private func send(_ message: String, _ descriptors: [Int32] = []) throws(SystemError) {
        let count = Int32(clamping: descriptors.count)
        _ = unsafe try checked(
            clinux_notify(path, message, descriptors, count), "tell the service manager at \(path)")
    }
}

/// The messages that have a process store descriptors under a name.
private func storing(_ descriptors: [Int32], as name: String) -> [(message: String, descriptors: [Int32])] {
    let most = Int(CLINUX_DESCRIPTORS_MAX)
    return stride(from: 0, to: descriptors.count, by: most).map { start in
        ("FDSTORE=1\nFDNAME=\(name)", Array(descriptors[start..<min(start + most, descriptors.count)]))
    }
}

/// A Unix socket that takes what is sent to a service manager; where it is connected, each end sends so to the other.
public final class NoticeSocket: Sendable {
    /// One message.
    public struct Notice: Sendable {
        /// The lines, such as `FDSTORE=1`.
        public let lines: [String]
        /// The descriptors in it, with the name in its `FDNAME=`.
        public let descriptors: [PassedDescriptor]
        /// Whether all that were in it are here; else none is, for this process may not have so many open.
        public let isWhole: Bool
    }

    /// The longest message in bytes; more of one is cut off.
    private static let longest = 4_096

    private let descriptor: Descriptor

    /// - Parameter descriptor: of a socket for messages: connected, or bound and for datagrams.
    public init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// The next message; nil when none arrives within `limit`, and at the end of a connection.
    public func receive(within limit: Duration) -> Notice? {
        let deadline = Instant.bootTime + limit
        repeat {
            if let notice = next() { return notice }
            var wanted = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&wanted, 1, (deadline - .bootTime).pollTimeout)
            if wanted.revents & Int16(POLLHUP) != 0 { break }
        } while Instant.bootTime < deadline
        return next()
    }

    /// Whether the other end of the connection is closed. What it has sent before can still be received.
    public var hasEnded: Bool {
        var wanted = pollfd(fd: descriptor.number, events: 0, revents: 0)
        return unsafe poll(&wanted, 1, 0) == 1 && wanted.revents & Int16(POLLHUP) != 0
    }

    /// The process that made the connection, by its number; nil where the kernel does not say.
    public var process: Int32? {
        let process = clinux_peer_process(descriptor.number)
        return process > 0 ? process : nil
    }

    /// Sends a message to the other end, without waiting.
    ///
    /// - Throws: `EPIPE` where that is closed, or receives nothing any more.
    public func send(_ message: String) throws(SystemError) {
        _ = unsafe try checked(clinux_pass(descriptor.number, message, nil, 0), "tell the other process")
    }

    /// Passes descriptors to the other end, under a name.
    ///
    /// - Throws: as `send` does; also when the other end takes none of them for 1 s.
    public func store(_ descriptors: [Int32], as name: String) throws(SystemError) {
        for (message, part) in storing(descriptors, as: name) {
            _ = unsafe try checked(
                clinux_pass(descriptor.number, message, part, Int32(part.count)),
                "pass descriptors to the other process")
        }
    }

    /// Has the other end's messages refused from now on; those that have come before can be received.
    public func endReceiving() { shutdown(descriptor.number, Int32(SHUT_RD)) }

    /// Ends the connection for both.
    public func end() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

    /// The next message that has come; nil where there is none.
    public func next() -> Notice? {
        var text = [CChar](repeating: 0, count: Self.longest)
        var numbers = [Int32](repeating: -1, count: Int(CLINUX_DESCRIPTORS_MAX))
        var count: Int32 = 0
        let length = unsafe clinux_receive_notice(descriptor.number, &text, text.count, &numbers, &count)
        guard length > 0 else { return nil }
        let lines = String(decoding: text.prefix(Int(length)).map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
            .split(separator: "\n").map(String.init)
        let name = lines.first { $0.hasPrefix("FDNAME=") }.map { String($0.dropFirst("FDNAME=".count)) } ?? ""
        let descriptors = numbers.prefix(Int(max(0, count))).map {
            PassedDescriptor(Descriptor(owning: $0), name: name)
        }
        return Notice(lines: lines, descriptors: descriptors, isWhole: count >= 0)
    }
}
