import CSystem.Linux
import Glibc
import Platform
import Testing

struct ListeningSocketTests {
    private let anyPort = SocketAddress(ipv4: 0x7f00_0001, port: 0)

    /// Connects to a listener; on the loopback interface the connection then waits to be accepted.
    private func connected(to address: SocketAddress) throws -> Descriptor {
        let client = Descriptor(
            owning: socket(address.family == .ipv4 ? AF_INET : AF_INET6, Int32(SOCK_STREAM.rawValue), 0))
        let number = client.number
        try #require(address.withSockaddr { connect(number, $0, $1) } == 0)
        return client
    }

    @Test func `sockets are opened also by a process without a standard input`() async {
        await #expect(processExitsWith: .success) {
            close(STDIN_FILENO)
            let any = SocketAddress(ipv4: 0x7f00_0001, port: 0)
            do { _ = try ListeningSocket(any) }
            do { _ = try UDPSocket.bind(any) }
            guard any.isOnThisMachine, !SocketAddress(ipv4: 0xc000_0201, port: 0).isOnThisMachine else { exit(1) }
        }
    }

    @Test func `without a connection accepting would block`() throws {
        let listener = try ListeningSocket(anyPort)
        guard case .wouldBlock = listener.accept() else { return #expect(Bool(false), "a connection from nowhere") }
    }

    @Test(arguments: ["127.0.0.1:0", "[::1]:0"])
    func `a connection is accepted with its peer, non-blocking and without delay`(text: String) throws {
        let listener = try ListeningSocket(try #require(SocketAddress(text)))
        let client = try connected(to: listener.address)
        guard case .connection(let connection, let peer) = listener.accept() else {
            return #expect(Bool(false), "no connection")
        }
        #expect(peer == boundAddress(of: client.number))
        var byte: UInt8 = 0
        #expect(recv(connection.number, &byte, 1, 0) == -1)
        #expect(errno == EAGAIN)
        var noDelay: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(connection.number, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, &size)
        #expect(noDelay == 1)
    }

    @Test func `a second listener on the port is refused because it is taken`() throws {
        let holder = try ListeningSocket(anyPort)
        let error = #expect(throws: SystemError.self) { _ = try ListeningSocket(holder.address) }
        #expect(error?.code == EADDRINUSE)
        #expect(error?.description.contains("ss -ltnp 'sport = :\(holder.address.port)'") == true)
    }

    @Test func `without descriptors left, accepting says what to raise`() async {
        await #expect(processExitsWith: .success) {
            let listener = try ListeningSocket(SocketAddress(ipv4: 0x7f00_0001, port: 0))
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            _ = listener.address.withSockaddr { connect(client, $0, $1) }
            // The lowest free number becomes the limit: nothing more can be opened.
            let next = dup(client)
            close(next)
            var limit = rlimit(rlim_cur: rlim_t(next), rlim_max: rlim_t(next))
            setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
            guard case .exhausted(let error) = listener.accept(), error.code == EMFILE,
                error.description.contains("LimitNOFILE=")
            else { exit(1) }
        }
    }
}
