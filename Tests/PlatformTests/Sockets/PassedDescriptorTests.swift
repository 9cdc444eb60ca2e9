import CSystem.Linux
import Glibc
import TestSupport
import Testing

@testable import Platform

/// Descriptors that one process passes to another.
struct PassedDescriptorTests {
    @Test func `what a manager stores arrives with its name, in as many messages as it takes`() throws {
        let directory = try TemporaryDirectory()
        let socket = try NotifySocket.forDescriptors(at: directory.path + "/notify")
        let manager = try #require(ServiceManager(path: directory.path + "/notify"))
        let files = try (0..<300).map { try PassedDescriptor([UInt8(truncatingIfNeeded: $0)], name: "file") }
        try manager.store(files.compactMap(\.number), as: "some")
        let first = try #require(socket.receive(within: .patience))
        let second = try #require(socket.receive(within: .patience))
        #expect(first.lines == ["FDSTORE=1", "FDNAME=some"])
        #expect(first.descriptors.count == 250 && second.descriptors.count == 50)
        #expect(second.descriptors.last?.contents(limit: 1) == [UInt8(truncatingIfNeeded: 299)])
        #expect(first.descriptors.allSatisfy { $0.name == "some" })
        try manager.discard("some")
        #expect(socket.receive(within: .patience)?.lines == ["FDSTOREREMOVE=1", "FDNAME=some"])
        #expect(socket.receive(within: .zero) == nil)
    }

    @Test func `a connection has ended once its other end is closed, and what came before can be received`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        let socket = NoticeSocket(Descriptor(owning: ends[0]))
        do {
            let other = Descriptor(owning: ends[1])
            #expect(send(other.number, "READY=1", 7, 0) == 7)
            #expect(!socket.hasEnded)
        }
        #expect(socket.hasEnded)
        #expect(socket.receive(within: .zero)?.lines == ["READY=1"])
        #expect(socket.receive(within: .patience) == nil)
    }

    @Test func `a file that is longer than expected, and a socket, have no contents`() throws {
        let file = try PassedDescriptor([1, 2, 3], name: "file")
        #expect(file.contents(limit: 3) == [1, 2, 3])
        #expect(file.contents(limit: 2) == [])
        #expect(file.contents(limit: 0) == [])
        let bound = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
        let socket = PassedDescriptor(Descriptor(owning: dup(bound.descriptor.number)), name: "udp")
        #expect(socket.contents(limit: 3) == [])
        #expect(socket.isDatagram && !file.isDatagram && socket.peer == nil)
        #expect(file.take() != nil && file.take() == nil && file.number == nil)
    }

    @Test(arguments: [
        [:], ["LISTEN_FDS": "3"], ["LISTEN_FDS": "3", "LISTEN_PID": "1"], ["LISTEN_PID": "\(getpid())"],
        ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "-1"], ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "many"],
        ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "99999999999999999999"],
    ])
    func `descriptors that are not for this process, or none, are not touched`(variables: [String: String]) {
        #expect(PassedDescriptor.inherited(variables).isEmpty)
    }

    @Test(arguments: [(["FDSTORE": "512"], 512), ([:], 0), (["FDSTORE": "-4"], 0), (["FDSTORE": "999999999"], 65_536)])
    func `a manager says how many it stores`(variables: [String: String], size: Int) {
        #expect(ServiceManager.storeSize(variables) == size)
    }

    @Test func `sockets are taken over with their address, and refused where they are of another type`() throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let udp = try UDPSocket.bind(any)
        let tcp = try ListeningSocket(any)
        let copy = { (number: Int32) in Descriptor(owning: dup(number)) }
        #expect(try UDPSocket(adopting: copy(udp.sender.descriptor.number)).address == udp.sender.address)
        #expect(try ListeningSocket(adopting: copy(tcp.descriptor.number)).address == tcp.address)
        #expect(throws: SystemError.self) { try UDPSocket(adopting: copy(tcp.descriptor.number)) }
        #expect(throws: SystemError.self) { try ListeningSocket(adopting: copy(udp.sender.descriptor.number)) }
    }

    @Test(arguments: [0, 1] as [Int32])
    func `a passed socket of every IPv6 address is taken over when it takes no IPv4`(isIPv6Only: Int32) throws {
        let address = try #require(SocketAddress("[::]:0"))
        let number = address.openSocket(.udp)
        let descriptor = Descriptor(owning: number)
        #expect(setOption(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, isIPv6Only))
        #expect(address.withSockaddr { bind(number, $0, $1) } == 0)
        let advice = "it takes IPv4 too; the socket unit needs BindIPv6Only=ipv6-only"
        do {
            let adopted = try UDPSocket(adopting: descriptor)
            #expect(isIPv6Only == 1 && adopted.address == boundAddress(of: adopted.descriptor.number))
        } catch {
            #expect(isIPv6Only == 0 && error.advice == advice)
        }
    }

    @Test func `the buffer of a passed socket does not become smaller`() throws {
        let large = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
        let size = try #require(option(large.descriptor.number, SOL_SOCKET, SO_RCVBUF))
        UDPSocket.setBuffer(large.descriptor.number, SO_RCVBUFFORCE, SO_RCVBUF, 1 << 14)
        #expect(option(large.descriptor.number, SOL_SOCKET, SO_RCVBUF) == size)
    }
}
