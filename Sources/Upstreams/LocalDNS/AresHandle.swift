import CCares
import DNSWire
import Glibc
import Platform

/// The owner of one c-ares channel; destroys it, and closes its sockets, when it is released.
///
/// Must not be released inside a callback of that channel.
@safe struct AresHandle: ~Copyable {
    let pointer: OpaquePointer

    /// Opens a channel for a single exchange with one server; about 12 us of CPU, and 75 kB while it exists.
    ///
    /// No file is read but `/dev/urandom`, for IDs that c-ares generates and that we do not use. Releases from 1.22 on
    /// replace our ID by such an ID, and so cannot be used unmodified; Debian 12 has 1.18.
    /// - Parameter changed: called for every socket that is opened, closed, or waits for other events. `data` must
    ///   outlive the handle.
    init(
        server: LocalDNSServer, transport: AresTransport, changed: @escaping ares_sock_state_cb,
        data: UnsafeMutableRawPointer
    ) throws(UpstreamFailure) {
        var channel: OpaquePointer?
        let address = server.address.bytes
        let status = unsafe ccares_open(
            &channel, address, Int32(address.count), Int32(server.port), server.interface, transport == .tcp ? 1 : 0,
            Self.timeout, changed, data)
        guard status == ccares_success, let channel = unsafe channel else { throw UpstreamFailure(aresStatus: status) }
        unsafe pointer = unsafe channel
    }

    deinit { unsafe ares_destroy(pointer) }

    /// c-ares's own time-out in milliseconds: longer than any query is outstanding.
    ///
    /// With one server and one try c-ares would do nothing at its time-out but fail, which the lookup's deadline
    /// decides. So its clock is never read, and no timer runs for it.
    private static let timeout: Int32 = 60_000
}

/// The transport of a query.
enum AresTransport: Hashable, Sendable {
    /// A datagram.
    case udp
    case tcp
}

extension UpstreamFailure {
    /// The failure for an `ARES_E…` number (ares_strerror(3)).
    init(aresStatus status: Int32) {
        // The library's text mentions "DNS servers", not all of which we contacted.
        self = unsafe .network(
            status == ccares_connection_refused
                ? "no connection"
                : ares_strerror(status).map { unsafe String(cString: $0) } ?? "c-ares status \(status)")
    }

    /// - Parameter socketError: the error number of a system call on a channel's socket.
    init(socketError: Int32) {
        self =
            socketError == ECONNREFUSED
            ? UpstreamFailure(aresStatus: ccares_connection_refused)
            : .network("\(SystemError(code: socketError, operation: "receive"))")
    }
}
