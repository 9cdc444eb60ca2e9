import DNSWire
import Glibc
import Testing

@testable import Platform

struct SocketOwnersTests {
    private let owners: SocketOwners
    private let server: SocketAddress

    init() throws {
        owners = try SocketOwners()
        server = try #require(SocketAddress("127.0.0.1:53"))
    }

    @Test func `the owner of a socket is its user`() throws {
        let client = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
        #expect(owners.owner(of: client.address, asking: server)?.program?.user == geteuid())
        let six = try #require(SocketAddress("[::1]:0"))
        if let client = try? UDPSocket.bind(six).sender {
            let owner = owners.owner(of: client.address, asking: try #require(SocketAddress("[::1]:53")))
            #expect(owner?.program?.user == geteuid())
        }
    }

    @Test func `a socket of the wildcard address is found by the address that its queries come from`() throws {
        let client = try UDPSocket.bind(try #require(SocketAddress("0.0.0.0:0"))).sender
        let seen = try #require(SocketAddress("127.0.0.1:\(client.address.port)"))
        #expect(owners.owner(of: seen, asking: server)?.program?.user == geteuid())
    }

    @Test func `where no socket is, or the families differ, there is no owner`() throws {
        // Ports that no program gets by chance, as that of a socket which was closed.
        for none in ["127.77.0.1:1", "[::1]:53"] {
            #expect(owners.owner(of: try #require(SocketAddress(none)), asking: server) == nil)
        }
        // And the next question has its own reply.
        let client = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
        #expect(owners.owner(of: client.address, asking: server)?.program?.user == geteuid())
    }
}
