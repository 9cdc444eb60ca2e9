import Glibc
import TestSupport

/// A blocking socket with deadlines; closed when the last reference is released.
package final class TestSocket: Sendable {
    package let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// A UDP socket bound to `address`; port 0 means any free one.
    package static func udp(_ address: TestAddress) throws -> TestSocket {
        let socket = try open(address, SOCK_DGRAM)
        // What arrives while a busy machine lets this process wait is not lost: more than 250 replies would not fit. Only
        // root may go beyond the machine's limit.
        if (try? socket.set(SOL_SOCKET, SO_RCVBUFFORCE, receiveBuffer)) == nil {
            try socket.set(SOL_SOCKET, SO_RCVBUF, receiveBuffer)
        }
        try socket.bind(address)
        return socket
    }

    /// In bytes.
    private static let receiveBuffer: Int32 = 4 << 20

    /// A listening TCP socket.
    package static func listener(_ address: TestAddress, backlog: Int32 = 4_096) throws -> TestSocket {
        let socket = try open(address, SOCK_STREAM)
        try socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
        try socket.bind(address)
        guard listen(socket.descriptor, backlog) == 0 else { throw failure("listen on \(address)") }
        return socket
    }

    /// A TCP connection to `address`, from `source` if given.
    package static func connection(to address: TestAddress, from source: String?) throws -> TestSocket {
        let socket = try open(address, SOCK_STREAM)
        if let source { try socket.bind(TestAddress(source)) }
        let result = try address.withSocketAddress { Glibc.connect(socket.descriptor, $0, $1) }
        guard result == 0 else { throw failure("connect to \(address)") }
        try socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    private static func open(_ address: TestAddress, _ type: __socket_type) throws -> TestSocket {
        let descriptor = socket(address.family, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure("open a socket") }
        let socket = TestSocket(descriptor: descriptor)
        if address.isIPv6 { try socket.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        return socket
    }

    private func bind(_ address: TestAddress) throws {
        let result = try address.withSocketAddress { Glibc.bind(descriptor, $0, $1) }
        guard result == 0 else { throw Self.failure("bind \(address)") }
    }

    func set(_ level: Int32, _ option: Int32, _ value: Int32) throws {
        var value = value
        guard setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw Self.failure("set a socket option")
        }
    }

    /// The address it is bound to.
    package var localAddress: TestAddress {
        TestAddress.filled { getsockname(descriptor, $0, $1) }.1
    }

    /// The next connection; nil after the listener was shut down.
    package func accept() -> (TestSocket, TestAddress)? {
        while true {
            _ = wait(for: POLLIN, nil)
            // A program that was started in between would hold the connection open as long as it runs.
            let (client, address) = ChildProcess.withoutStarts {
                let (client, address) = TestAddress.filled { Glibc.accept(descriptor, $0, $1) }
                if client >= 0 { _ = fcntl(client, F_SETFD, FD_CLOEXEC) }
                return (client, address)
            }
            if client >= 0 {
                let socket = TestSocket(descriptor: client)
                try? socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
                return (socket, address)
            }
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }

    /// Waits for one of `events`.
    ///
    /// - Returns: the events that occurred; 0 when `limit` passed first.
    func wait(for events: Int32, _ limit: Duration?) -> Int32 {
        let deadline = limit.map { ContinuousClock.now + $0 }
        while true {
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let left = deadline.map { ($0 - ContinuousClock.now).inMilliseconds } ?? -1
            let count = poll(&entry, 1, left)
            if count >= 0 || errno != EINTR { return count > 0 ? Int32(entry.revents) : 0 }
        }
    }

    /// Receives up to 65,535 bytes: empty at the end of a stream, nil when `limit` passed or the socket failed.
    package func receive(_ limit: Duration?) -> (bytes: [UInt8], from: TestAddress)? {
        guard wait(for: POLLIN, limit) != 0 else { return nil }
        var count = 0
        var from = TestAddress("")
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_535) { buffer, used in
            (count, from) = TestAddress.filled { recvfrom(descriptor, buffer.baseAddress, buffer.count, 0, $0, $1) }
            used = max(0, count)
        }
        return count < 0 ? nil : (bytes, from)
    }

    /// Sends a datagram.
    package func send(_ bytes: [UInt8], to address: TestAddress) throws {
        let count = try address.withSocketAddress {
            sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, $1)
        }
        guard count == bytes.count else { throw Self.failure("send to \(address)") }
    }

    /// Writes all of `bytes` to a stream.
    package func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Self.failure("write") }
            sent += count
        }
    }

    /// Shuts down both directions: threads that wait on it return.
    package func shutdown() { _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Shuts down the sending direction only.
    package func shutdownWriting() { _ = Glibc.shutdown(descriptor, Int32(SHUT_WR)) }

    private static func failure(_ action: String) -> TestFailure {
        TestFailure("cannot \(action): \(String(cString: strerror(errno)))")
    }
}
