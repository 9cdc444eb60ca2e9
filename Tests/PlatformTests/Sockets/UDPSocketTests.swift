import CSystem.Linux
import Glibc
import Platform
import Testing

struct UDPSocketTests {
    private let anyPort = SocketAddress(ipv4: 0x7f00_0001, port: 0)

    @Test func `all sockets of an address have the one port that the first was given`() throws {
        let sockets = try UDPSocket.bind(anyPort, count: 4)
        #expect(sockets.receivers.count == 4)
        #expect(sockets.sender.address.port != 0)
        #expect(Set(sockets.receivers.map(\.address)) == [sockets.sender.address])
    }

    @Test(arguments: [1, 3]) func `a second daemon on the port is refused because it is taken`(count: Int) throws {
        let sockets = try UDPSocket.bind(anyPort, count: count)
        let address = sockets.sender.address
        let error = #expect(throws: SystemError.self) { _ = try UDPSocket.bind(address, count: 2) }
        #expect(error?.code == EADDRINUSE)
        #expect(
            error?.description
                == "listen on \(address) (UDP): Address already in use; another program holds this port; "
                + "find it with: ss -lunp 'sport = :\(address.port)'")
    }

    @Test func `the kernel holds 4 MiB of queries, or as much as the machine lets it`() throws {
        let socket = try UDPSocket.bind(anyPort).receivers[0]
        var (size, length): (Int32, socklen_t) = (0, socklen_t(MemoryLayout<Int32>.size))
        #expect(getsockopt(socket.descriptor.number, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0)
        let text = String(decoding: try readFile("/proc/sys/net/core/rmem_max", limit: 64), as: UTF8.self)
        let most = try #require(Int32(text.prefix { $0.isNumber }))
        // The kernel doubles what is asked for (socket(7)).
        #expect([2 * 4 << 20, 2 * min(4 << 20, most)].contains(size))
    }

    /// The number of datagrams that wait in a socket. On the loopback interface one has arrived when `sendto` returns.
    private func take(from socket: UDPSocket) -> Int {
        var byte: UInt8 = 0
        var count = 0
        while recv(socket.descriptor.number, &byte, 1, Int32(MSG_DONTWAIT)) == 1 { count += 1 }
        return count
    }

    @Test(arguments: ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"], [1, 2, 3])
    func `clients spread over all receivers and none comes to the sender`(text: String, count: Int) throws {
        let sockets = try UDPSocket.bind(try #require(SocketAddress(text)), count: count)
        let server = sockets.sender.address
        for _ in 0..<96 {
            let client = Descriptor(
                owning: socket(server.family == .ipv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue), 0))
            #expect(server.withSockaddr { sendto(client.number, "x", 1, 0, $0, $1) } == 1)
        }
        #expect(sockets.sender.all.map(take).allSatisfy { $0 == 0 })
        let counts = sockets.receivers.map(take)
        #expect(counts.reduce(0, +) == 96)
        #expect(counts.allSatisfy { $0 > 0 })
    }

    @Test func `clients that all send from one port spread by their addresses`() throws {
        let sockets = try UDPSocket.bind(anyPort, count: 2)
        let port = try UDPSocket.bind(anyPort).sender.address.port
        for host in 1...64 as ClosedRange<UInt32> {
            let client = try UDPSocket.bind(SocketAddress(ipv4: 0x7f01_0000 + host, port: port)).sender
            let sent = sockets.sender.address.withSockaddr { sendto(client.descriptor.number, "x", 1, 0, $0, $1) }
            #expect(sent == 1)
        }
        let counts = sockets.receivers.map(take)
        #expect(counts.reduce(0, +) == 64)
        #expect(counts.allSatisfy { $0 > 8 })
    }

    @Test func `a program that would leave no receiver is refused`() throws {
        let socket = try UDPSocket.bind(anyPort).sender
        #expect(clinux_spread_datagrams(socket.descriptor.number, AF_INET, 1, 0) == -EINVAL)
        #expect(clinux_spread_datagrams(-1, AF_INET, 1, 1) == -EBADF)
    }

    @Test func `IPv4 and IPv6 wildcards share a port`() throws {
        let ipv4 = try UDPSocket.bind(SocketAddress(ipv4: 0, port: 0)).sender
        let ipv6 = try UDPSocket.bind(SocketAddress(ipv6: 0, 0, port: ipv4.address.port))
        #expect(ipv6.sender.address.port == ipv4.address.port)
    }

    /// Reserved for documentation (RFC 5737, RFC 3849).
    @Test(arguments: ["192.0.2.1:0", "[2001:db8::1]:0"])
    func `an address that no interface has is bound, and said to be absent`(text: String) throws {
        let address = try #require(SocketAddress(text))
        let sockets = try UDPSocket.bind(address, count: 2)
        let bound = sockets.sender.address
        #expect(try ListeningSocket(bound).address == bound)
        #expect(!bound.isOnThisMachine)
        let error = #expect(throws: SystemError.self) { _ = try UDPSocket.bind(bound) }
        #expect(error?.code == EADDRINUSE)
        withExtendedLifetime(sockets) {}
    }

    @Test(arguments: ["127.0.0.1:53", "[::1]:53", "0.0.0.0:53", "[::]:53"])
    func `an address that an interface has, and a wildcard, are said to be there`(text: String) throws {
        #expect(try #require(SocketAddress(text)).isOnThisMachine)
    }

    @Test(arguments: [
        (EACCES, "setcap cap_net_bind_service=+ep"), (EACCES, "AmbientCapabilities=CAP_NET_BIND_SERVICE"),
        (EACCES, "net.ipv4.ip_unprivileged_port_start=0"), (EACCES, "root"), (EACCES, "higher port"),
        (EMFILE, "LimitNOFILE="), (EMFILE, "ulimit -n"),
    ])
    func `the advice for a failure names the remedies`(code: Int32, remedy: String) {
        let error = SystemError.listening(on: SocketAddress(ipv4: 0x7f00_0001, port: 53), .udp, code: code)
        #expect(error.description.contains(remedy))
        #expect(!error.description.contains("\n"))
    }

    @Test func `no permission on a high port is not blamed on the port`() {
        #expect(SystemError.listening(on: SocketAddress(ipv4: 0, port: 1_024), .udp, code: EACCES).advice == nil)
    }
}
