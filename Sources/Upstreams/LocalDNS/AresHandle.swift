import CCares
import DNSWire
import Glibc
import Platform

/// The owner of one c-ares channel; destroys it, and closes its sockets, when it goes.
///
/// Must not go inside a callback of that channel.
struct AresHandle: ~Copyable {
    let pointer: OpaquePointer

    /// Opens a channel for a single exchange with one server; about 12 us of CPU, and 75 kB as long as it lives.
    ///
    /// No file is read but `/dev/urandom`, for IDs that c-ares would make and that we do not use. Releases from 1.22 on put
    /// such an ID in place of ours: not fit for us as they are; Debian 12 has 1.18.
    /// - Parameter changed: told of every socket that is opened, closed, or waits for something else. `data` must outlive the handle.
    init(
        server: LocalDNSServer, transport: AresTransport, changed: @escaping ares_sock_state_cb,
        data: UnsafeMutableRawPointer
    ) throws(AresError) {
        var channel: OpaquePointer?
        let address = server.address.bytes
        let status = ccares_open(
            &channel, address, Int32(address.count), Int32(server.port), server.interface, transport == .tcp ? 1 : 0,
            Self.timeout, changed, data)
        guard status == ccares_success, let channel else { throw AresError(status: status) }
        pointer = channel
    }

    deinit { ares_destroy(pointer) }

    /// How long c-ares itself would wait, in milliseconds: longer than any question lives.
    ///
    /// With one server and one try there is nothing that c-ares would do at its time-out but give up, and that is decided
    /// by the lookup's deadline. So its clock is never read, and no timer runs for it.
    private static let timeout: Int32 = 60_000
}

/// How a query travels.
enum AresTransport: Hashable, Sendable {
    /// A datagram.
    case udp
    case tcp
}

/// A failure that c-ares reports.
struct AresError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An `ARES_E…` number (ares_strerror(3)).
    let status: Int32
    /// The text for logs.
    let description: String

    init(status: Int32) {
        self.status = status
        // The library's text speaks of "DNS servers" that we did not all contact.
        description =
            status == ccares_connection_refused
            ? "no connection" : ares_strerror(status).map { String(cString: $0) } ?? "c-ares status \(status)"
    }

    /// - Parameter socketError: an error number of a system call on the channel's socket.
    init(socketError: Int32) {
        self =
            socketError == ECONNREFUSED
            ? AresError(status: ccares_connection_refused)
            : AresError("\(SystemError(code: socketError, operation: "receive"))")
    }

    init(_ description: String) {
        status = ccares_no_memory
        self.description = description
    }
}
