import CSystem.Linux
import DNSWire
import Glibc
public import Platform

/// What a server had begun when another process took over: the queries without a response, and the TCP connections.
public struct UnfinishedWork: Sendable {
    /// A query over UDP.
    struct Datagram: Sendable {
        /// The listen address to which it came.
        let server: SocketAddress
        let origin: clinux_origin
        /// How long it has waited for its response; the time between the processes does not count.
        let waited: Duration
        let message: [UInt8]

        /// Its client; nil for an origin that is none.
        var client: SocketAddress? { SocketAddress(origin.peer, length: origin.peer_length) }
    }

    struct Connection: Sendable {
        let socket: PassedDescriptor
        let peer: SocketAddress
        /// What was received and not answered, from the beginning of a message on.
        let input: [UInt8]
        /// What the client has not received yet of its responses.
        let output: [UInt8]
    }

    /// The length in bytes of the longest file: more than all queries and connections together hold.
    static let longest = 256 << 20
    /// The beginning of the file; one of another version is not read.
    private static let version = Array("httpdnsd queries 1".utf8)

    var datagrams: [Datagram] = []
    var connections: [Connection] = []

    public init() {}

    /// Calls `body` with the numbers of what is to be passed on besides the sockets: the file, and the connections. All are
    /// open until it returns.
    ///
    /// - Throws: what `body` throws, or when no file can be made.
    public func lend(
        _ body: (_ queries: [Int32], _ connections: [Int32]) throws(SystemError) -> Void
    ) throws(SystemError) {
        let file = try PassedDescriptor(bytes, name: PassedKind.queries.rawValue)
        // Their numbers alone keep none of them open.
        defer { withExtendedLifetime((file, connections)) {} }
        try body([file.number].compactMap(\.self), connections.compactMap(\.socket.number))
    }

    // MARK: The file

    var bytes: [UInt8] {
        var file: [UInt8] = []
        file.append(field: Self.version)
        for each in datagrams {
            file.append(field: Array("\(each.server)".utf8))
            unsafe file.append(field: withUnsafeBytes(of: each.origin) { unsafe Array($0) })
            file.append(field: Array("\(each.waited.nanoseconds)".utf8))
            file.append(field: each.message)
        }
        file.append(field: [])
        for each in connections {
            file.append(field: Array((each.socket.ends ?? "").utf8))
            file.append(field: each.input)
            file.append(field: each.output)
        }
        return file
    }

    /// Reads a file, and finds the connections of which it tells; what does not fit is left out.
    ///
    /// - Parameter sockets: the connections; those that are broken, and those of which the file does not tell, are closed.
    init(_ bytes: [UInt8], _ sockets: [PassedDescriptor]) {
        var file = ByteReader(bytes)
        guard file.field() == Self.version else { return }
        while let server = file.field(), !server.isEmpty {
            guard let origin = file.field(), let waited = file.field(), let message = file.field() else { return }
            if let datagram = Datagram(server, origin, waited, message) { datagrams.append(datagram) }
        }
        var open: [String: PassedDescriptor] = [:]
        for socket in sockets { if let ends = socket.ends { open[ends] = socket } }
        while let ends = file.field(), let input = file.field(), let output = file.field() {
            guard let socket = open.removeValue(forKey: String(decoding: ends, as: UTF8.self)), let peer = socket.peer
            else { continue }
            connections.append(Connection(socket: socket, peer: peer, input: input, output: output))
        }
    }
}

extension [UInt8] {
    /// Appends a string behind its length in four bytes; one of 4 GiB would be cut.
    fileprivate mutating func append(field: [UInt8]) {
        let length = UInt32(clamping: field.count)
        append(length, bytes: 4)
        append(contentsOf: field.prefix(Int(length)))
    }
}

extension ByteReader {
    fileprivate mutating func field() -> [UInt8]? { string(behind: 4).map { Array($0) } }
}

extension UnfinishedWork.Datagram {
    /// The longest wait of a query for its response.
    private static let patience: Duration = .seconds(3)

    fileprivate init?(_ server: [UInt8], _ origin: [UInt8], _ waited: [UInt8], _ message: [UInt8]) {
        var copy = clinux_origin()
        guard origin.count == MemoryLayout<clinux_origin>.size else { return nil }
        unsafe withUnsafeMutableBytes(of: &copy) { unsafe $0.copyBytes(from: origin) }
        guard let server = SocketAddress(String(decoding: server, as: UTF8.self)),
            let waited = Int64(String(decoding: waited, as: UTF8.self)),
            copy.peer_length <= MemoryLayout<sockaddr_in6>.size
        else { return nil }
        self.init(
            server: server, origin: copy, waited: min(max(.nanoseconds(waited), .zero), Self.patience),
            message: message)
    }
}

/// The names under which a server passes on what it has.
public enum PassedKind: String, CaseIterable, Sendable {
    /// A UDP socket from which queries are received.
    case udp = "httpdnsd-udp"
    /// The UDP socket by which late responses of an address are sent.
    case replies = "httpdnsd-replies"
    /// A listening TCP socket.
    case tcp = "httpdnsd-tcp"
    /// A listening socket for DNS over TLS.
    case tls = "httpdnsd-tls"
    /// A listening socket for DNS over HTTPS.
    case https = "httpdnsd-https"
    /// A listening socket for HTTPDNS in plain http.
    case http = "httpdnsd-http"
    /// A TCP connection.
    case connection = "httpdnsd-connection"
    /// A file with the queries that were not answered yet.
    case queries = "httpdnsd-queries"
    /// The listening Unix socket for commands.
    case commands = "httpdnsd-commands"
    /// That for a process that takes the place of this one.
    case successor = "httpdnsd-successor"
}
