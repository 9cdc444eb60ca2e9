import CSystem.Linux
import Glibc

/// A failed system call, as a text for the log: "listen on 127.0.0.1:53 (UDP): Address already in use".
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error number, such as `EADDRINUSE`.
    public let code: Int32
    /// What was attempted, and on what: "listen on 127.0.0.1:53 (UDP)".
    public let operation: String
    /// What the user can do about it, if known; one line without a final full stop.
    public let advice: String?

    public init(code: Int32, operation: String, advice: String? = nil) {
        self.code = code
        self.operation = operation
        self.advice = advice
    }

    /// The error of the C call that just returned on this thread.
    public static func last(_ operation: String) -> SystemError {
        SystemError(code: errno, operation: operation)
    }

    /// The system's own text for the error number; of a pipe that was to be read its "Illegal seek" says nothing.
    public var reason: String {
        code == ESPIPE
            ? "it is a pipe, and a file is needed"
            : unsafe clinux_error_text(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    /// Which resource of this machine is exhausted, if that is why there is no socket.
    public var shortage: String? {
        switch code {
        case EMFILE, ENFILE: "out of file descriptors"
        case ENOBUFS, ENOMEM: "out of memory for sockets"
        default: nil
        }
    }

    public var description: String {
        advice.map { "\(operation): \(reason); \($0)" } ?? "\(operation): \(reason)"
    }
}

/// Returns a result of CSystem, or throws the error number it carries.
func checked(_ result: Int32, _ operation: @autoclosure () -> String) throws(SystemError) -> Int32 {
    guard result < 0 else { return result }
    throw SystemError(code: -result, operation: operation())
}

extension SystemError {
    /// The error of a socket that could not be bound to an address, with advice for the user.
    ///
    /// - Parameter code: the error number of `socket`, `setsockopt`, `bind` or `listen`.
    public static func listening(on address: SocketAddress, _ transport: Transport, code: Int32) -> SystemError {
        SystemError(
            code: code, operation: "listen on \(address) (\(transport.rawValue))",
            advice: listeningAdvice(address, transport, code: code) ?? exhaustionAdvice(code: code))
    }

    private static func listeningAdvice(_ address: SocketAddress, _ transport: Transport, code: Int32) -> String? {
        switch code {
        case EADDRINUSE:
            let options = transport == .udp ? "-lunp" : "-ltnp"
            return "another program holds this port; find it with: ss \(options) 'sport = :\(address.port)'"
        case EACCES where address.port < 1_024:
            return
                "a port below 1024 needs root, or `setcap cap_net_bind_service=+ep` on the executable, or in a systemd "
                + "unit AmbientCapabilities=CAP_NET_BIND_SERVICE, or in a container the sysctl "
                + "net.ipv4.ip_unprivileged_port_start=0; or listen on a higher port"
        case EAFNOSUPPORT:
            return "\(address.family == .ipv6 ? "IPv6" : "IPv4") is switched off here; take the address out of the list"
        default: return nil
        }
    }

    /// Advice when the process or the machine has run out of descriptors.
    static func exhaustionAdvice(code: Int32) -> String? {
        switch code {
        case EMFILE: "too low a limit of open files; raise LimitNOFILE= in the systemd unit, or `ulimit -n`"
        case ENFILE: "the machine's limit of open files is reached; raise fs.file-max"
        default: nil
        }
    }
}
