import CCurl
import CLinux
import DNSWire
import Glibc
import Platform

/// A tunnel through an HTTP proxy (`CONNECT`, RFC 9110 section 9.3.6): builds the request and parses the reply.
struct HTTPTunnel {
    enum State: Equatable {
        case isUnderWay
        case isOpen
        /// - Parameter reason: the proxy's status, or why its reply is invalid.
        case isRefused(reason: String)
    }

    /// The most bytes of the proxy's header.
    private static let limit = 8_192

    /// The request, sent before anything else.
    let request: [UInt8]
    private(set) var state = State.isUnderWay
    private var line: [UInt8] = []
    private var received = 0
    private var isStatusKnown = false

    /// - Parameter target: the tunnel's destination, as address and port.
    init(to target: String) {
        request = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\nUser-Agent: httpdnsd\r\n\r\n".utf8)
    }

    /// Parses received bytes up to the end of the reply.
    ///
    /// - Returns: how many of the bytes belong to the reply.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            guard state == .isUnderWay else { return index }
            received += 1
            if received > Self.limit {
                state = .isRefused(reason: "the proxy's reply is larger than the limit")
            } else if byte != UInt8(ascii: "\n") {
                line.append(byte)
            } else {
                lineEnded()
            }
        }
        return bytes.count
    }

    private mutating func lineEnded() {
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        defer { line = [] }
        if isStatusKnown {
            if line.isEmpty { state = .isOpen }
            return
        }
        // "HTTP/1.1 200 Connection established"
        guard line.count >= 12, line.starts(with: "HTTP/1.".utf8), line[8] == UInt8(ascii: " "),
            let status = OutsideNumber(digits: line[9..<12])?.within(100...599)
        else {
            state = .isRefused(reason: "the proxy's reply is not HTTP")
            return
        }
        isStatusKnown = true
        if !(200..<300).contains(status) { state = .isRefused(reason: "the proxy refuses with status \(status)") }
    }
}

/// A TCP socket to a service, or to the proxy through which it is reached.
enum HTTPSocket {
    /// Time without an acknowledgement after which the kernel closes a connection (TCP_USER_TIMEOUT): it bounds how long a
    /// black hole goes undetected when every request is given up before its connection is tested.
    private static let userTimeout: Duration = .seconds(3)

    /// Starts to connect, without blocking.
    ///
    /// - Throws: `UpstreamFailure.overloaded` without descriptors or memory, `UpstreamFailure.network` without a route.
    static func connect(to origin: HTTPOrigin) throws(UpstreamFailure) -> Descriptor {
        let address = origin.proxy ?? SocketAddress(origin.translated ?? origin.address, port: origin.port)
        let number = address.openSocket(.tcp)
        guard number >= 0 else {
            if let shortage = shortage(errno) {
                throw .overloaded("no socket for \(origin.addressText): \(shortage)")
            }
            throw .network(SystemError.last("socket").description)
        }
        let descriptor = Descriptor(owning: number)
        limitSilence(of: number)
        for (level, option, value) in [
            (Int32(IPPROTO_TCP), TCP_NODELAY, 1), (SOL_SOCKET, SO_KEEPALIVE, 1),
            (Int32(IPPROTO_TCP), TCP_KEEPIDLE, HTTPLimits.keepAliveIdle),
            (Int32(IPPROTO_TCP), TCP_KEEPINTVL, HTTPLimits.keepAliveInterval),
        ] {
            var value = Int32(value)
            _ = unsafe setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
        guard unsafe address.withSockaddr({ unsafe Glibc.connect(number, $0, $1) }) == 0 || errno == EINPROGRESS else {
            throw .network(SystemError.last("connect").description)
        }
        return descriptor
    }

    /// Sets TCP_USER_TIMEOUT to `userTimeout`.
    static func limitSilence(of descriptor: Int32) {
        // An old kernel without the option only detects a dead connection later.
        _ = clinux_set_user_timeout(descriptor, UInt32(userTimeout.components.seconds) * 1_000)
    }

    /// Which local resource is exhausted, if that is why a socket could not be opened.
    static func shortage(_ error: Int32) -> String? {
        switch error {
        case EMFILE, ENFILE: "out of file descriptors"
        case ENOBUFS, ENOMEM: "out of memory for sockets"
        default: nil
        }
    }
}
