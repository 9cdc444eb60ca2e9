import CSystem.Linux
import DNSWire
import Glibc
import Platform
import TestSupport
import Testing

@testable import DNSServer

/// When the programs of this machine are distinguished.
@Suite(.onLoop)
struct LocalClientsTests {
    private let server: UDPSocket
    private let client: UDPSocket
    private let now = Instant(nanoseconds: 0)
    private var path: ReplyPath { .datagram(DatagramPath(socket: server, origin: clinux_origin())) }

    init() throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        (server, client) = (try UDPSocket.bind(any).sender, try UDPSocket.bind(any).sender)
    }

    @Test @Loop func `while few queries wait, the address alone counts`() {
        let clients = LocalClients(crowd: 2, longestWait: .seconds(2))
        clients.count(1, of: client.address)
        let network = clients.network(of: client.address, by: path, at: now) { _ in false }
        #expect(network == ClientNetwork(client.address.ip) && network.program == nil)
    }

    @Test @Loop func `in a crowd the owner of the socket counts, until all that waited in it have their answers`() {
        let clients = LocalClients(crowd: 2, longestWait: .seconds(2))
        for _ in 0..<2 { clients.count(1, of: client.address) }
        #expect(clients.network(of: client.address, by: path, at: now) { _ in false }.program?.user == geteuid())
        clients.count(-1, of: client.address)
        #expect(clients.network(of: client.address, by: path, at: now + .seconds(1)) { _ in false }.program != nil)
        #expect(clients.network(of: client.address, by: path, at: now + .seconds(2)) { _ in false }.program == nil)
    }

    @Test @Loop func `near the brake the owner counts too`() {
        let clients = LocalClients(crowd: 2, longestWait: .seconds(2))
        #expect(clients.network(of: client.address, by: path, at: now) { _ in true }.program?.user == geteuid())
    }

    @Test @Loop func `a program is known for 10 ms, since its port may be another's then`() throws {
        let clients = LocalClients(crowd: 0, longestWait: .seconds(2))
        var client: UDPSocket? = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
        let address = try #require(client?.address)
        func network(after time: Duration) -> ClientNetwork {
            clients.network(of: address, by: path, at: now + time) { _ in false }
        }
        let program = network(after: .zero)
        client = nil
        #expect(program.program?.user == geteuid() && network(after: .milliseconds(9)) == program)
        #expect(network(after: .milliseconds(10)) == ClientNetwork(address.ip))
    }

    @Test @Loop func `a socket that is closed, and a client elsewhere, count by their addresses`() throws {
        let clients = LocalClients(crowd: 0, longestWait: .seconds(2))
        let closed = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender.address
        #expect(clients.network(of: closed, by: path, at: now) { _ in true } == ClientNetwork(closed.ip))
        let other = try #require(SocketAddress("192.0.2.1:53"))
        #expect(clients.network(of: other, by: path, at: now) { _ in true } == ClientNetwork(other.ip))
        clients.count(1, of: other)
        #expect(clients.waiting == 0)
    }

    @Test func `a program is no address, and no part of a site`() {
        let program = ClientNetwork(user: 1_000, group: 0x1_2345_6789)
        #expect(program.program?.user == 1_000 && program.program?.group == 0x45_6789)
        #expect("\(program)" == "user 1000 of this machine")
        #expect(
            program.site(48) == nil && ClientNetwork.strangers.site(48) == nil && ClientNetwork.machine.site(56) == nil)
        for other in [ClientNetwork.machine, .daemon, .strangers] { #expect(other.program == nil) }
        #expect(ClientNetwork(user: 1_001, group: 7) != ClientNetwork(user: 1_001, group: 8))
    }
}
