import Glibc
import Platform
import Testing

@Suite struct UDPSocketTests {
    private let anyPort = SocketAddress(ipv4: 0x7f00_0001, port: 0)

    @Test func `all sockets of an address have the one port that the first was given`() throws {
        let sockets = try UDPSocket.bind(anyPort, count: 4)
        #expect(sockets.count == 4)
        #expect(sockets[0].address.port != 0)
        #expect(Set(sockets.map(\.address)).count == 1)
    }

    @Test(arguments: [1, 3]) func `a second daemon on the port is told that it is taken`(count: Int) throws {
        let sockets = try UDPSocket.bind(anyPort, count: count)
        let address = sockets[0].address
        let error = #expect(throws: SystemError.self) { _ = try UDPSocket.bind(address, count: 2) }
        #expect(error?.code == EADDRINUSE)
        #expect(
            error?.description
                == "listen on \(address) (UDP): Address already in use; another program holds this port; "
                + "find it with: ss -lunp 'sport = :\(address.port)'")
    }

    @Test func `the port is free again once the sockets are gone`() throws {
        let address = try #require(try UDPSocket.bind(anyPort, count: 2).first).address
        #expect(try UDPSocket.bind(address).first?.address == address)
    }

    @Test func `clients spread over all sockets of an address`() throws {
        let sockets = try UDPSocket.bind(anyPort, count: 2)
        for _ in 0..<64 {
            let client = Descriptor(owning: socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0))
            let sent = sockets[0].address.withSockaddr { sendto(client.number, "x", 1, 0, $0, $1) }
            #expect(sent == 1)
        }
        // On the loopback interface a datagram has arrived when sendto returns.
        let counts = sockets.map { socket in
            var byte: UInt8 = 0
            var count = 0
            while recv(socket.descriptor.number, &byte, 1, 0) == 1 { count += 1 }
            return count
        }
        #expect(counts.reduce(0, +) == 64)
        #expect(counts.allSatisfy { $0 > 0 })
    }

    @Test func `IPv4 and IPv6 wildcards share a port`() throws {
        let ipv4 = try #require(try UDPSocket.bind(SocketAddress(ipv4: 0, port: 0)).first)
        let ipv6 = try UDPSocket.bind(SocketAddress(ipv6: 0, 0, port: ipv4.address.port))
        #expect(ipv6.first?.address.port == ipv4.address.port)
    }

    @Test func `an address that no interface has is refused with advice`() throws {
        let error = #expect(throws: SystemError.self) {
            // Reserved for documentation (RFC 5737).
            _ = try UDPSocket.bind(SocketAddress(ipv4: 0xc000_0201, port: 5_353))
        }
        #expect(error?.code == EADDRNOTAVAIL)
        #expect(error?.advice?.contains("ip address") == true)
    }

    @Test(arguments: [
        (EACCES, "setcap cap_net_bind_service=+ep"), (EACCES, "AmbientCapabilities=CAP_NET_BIND_SERVICE"),
        (EACCES, "root"), (EACCES, "higher port"), (EMFILE, "LimitNOFILE="), (EMFILE, "ulimit -n"),
    ])
    func `the advice for a failure names the remedies`(code: Int32, remedy: String) {
        let error = SystemError.listening(on: SocketAddress(ipv4: 0x7f00_0001, port: 53), .udp, code: code)
        #expect(error.description.contains(remedy))
        #expect(!error.description.contains("\n"))
    }

    @Test func `no permission on a high port is not blamed on the port`() {
        #expect(SystemError.listening(on: SocketAddress(ipv4: 0, port: 5_353), .udp, code: EACCES).advice == nil)
    }
}
