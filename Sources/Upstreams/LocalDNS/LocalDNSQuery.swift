import DNSWire
import Glibc
import Platform

/// How a server is queried.
struct LocalDNSWay: Equatable {
    var transport = Transport.udp
    var edns = true

    var overTCP: LocalDNSWay { LocalDNSWay(transport: .tcp, edns: edns) }
    var withoutEDNS: LocalDNSWay { LocalDNSWay(transport: transport, edns: false) }
    /// What is tried after a response that is truncated, and after another one that cannot be used; nil: nothing more.
    var afterTruncation: LocalDNSWay? { transport == .udp ? overTCP : nil }
    var next: LocalDNSWay? { edns ? withoutEDNS : afterTruncation }
}

/// One query as sent to one server, and the validation of the response.
///
/// What an off-path attacker has to guess: the source port, which the kernel selects for each query, the random ID,
/// and over UDP the random letter case of the name (RFC 5452 section 4; "0x20"). A response over TCP cannot be forged
/// off the path, and some servers do not preserve letter case: there the name is sent in lower case, and accepted in
/// any.
struct LocalDNSQuery {
    /// What a response says.
    enum Reply: Equatable {
        case answer(Answer)
        /// The server does not answer the question.
        case refusal(UpstreamFailure)
        /// It cannot be used.
        case unusable(UpstreamFailure)
        /// There is none, and none can come any more.
        case lost(UpstreamFailure)
        /// It would be a response but for the letter case of its question: forged, or from a server that does not preserve
        /// it.
        case otherLetterCase
    }

    /// The question as received from the client.
    let question: Question
    let transport: Transport
    private let dnssecOK: Bool
    /// Header, question and OPT record.
    let bytes: [UInt8]
    /// The offset in `bytes` of the question's end.
    private let questionEnd: Int

    /// - Parameters:
    ///   - way: over TCP the letter case is not random, and without EDNS the DO bit is not sent.
    ///   - random: by default each number costs a system call.
    init(
        _ question: Question, by way: LocalDNSWay, dnssecOK: Bool, checkingDisabled: Bool,
        random: () -> UInt64 = { .random(in: .min ... .max) }
    ) {
        self.question = question
        self.dnssecOK = dnssecOK
        transport = way.transport
        var flags: HeaderFlags = .recursionDesired
        if checkingDisabled { flags.insert(.checkingDisabled) }
        var builder = MessageBuilder(id: UInt16(truncatingIfNeeded: random()), flags: flags)
        let name = transport == .udp ? Self.disguise(question.name, random) : question.name.lowercased
        builder.append(Question(name: name, type: question.type, class: question.class))
        questionEnd = builder.bytes.count
        if way.edns { builder.append(EDNS(dnssecOK: dnssecOK)) }
        bytes = builder.bytes
    }

    /// The name with each letter in random case.
    private static func disguise(_ name: Name, _ random: () -> UInt64) -> Name {
        // One bit for each byte.
        let bits = (0...name.wire.count / UInt64.bitWidth).map { _ in random() }
        // Lengths of labels are at most 63 and never equal a letter's code.
        let wire = name.wire.enumerated().map { index, byte in
            let lower = asciiLowercased(byte)
            guard (0x61...0x7a).contains(lower) else { return lower }
            let bit = bits[index / UInt64.bitWidth] >> UInt64(index % UInt64.bitWidth) & 1
            return bit == 0 ? lower : lower & ~0x20
        }
        return (try? Name(wire: wire)) ?? name
    }

    /// What a datagram or message says; nil for one that is no response to this query: it may be forged, and says nothing
    /// about the server.
    ///
    /// Names that point into the question are returned in the client's letter case, not in that of the query. An error
    /// response may come without the question, from a server that could not parse the query or refused to.
    func reply(in bytes: [UInt8]) -> Reply? {
        guard bytes.count >= Header.length, bytes[..<2] == self.bytes[..<2] else { return nil }
        let flags = HeaderFlags(rawValue: UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
        guard flags.contains(.response), flags.opcode == 0 else { return nil }
        let isFailure = flags.responseCode != .noError && flags.responseCode != .nameError
        var plain = bytes
        if !isFailure || bytes[4] != 0 || bytes[5] != 0 {
            guard hasQuestion(bytes) else { return nil }
            let question = Header.length..<questionEnd
            guard transport == .tcp || bytes[question] == self.bytes[question] else { return .otherLetterCase }
            guard !flags.contains(.truncated) else { return .unusable(Self.truncated) }
            plain.replaceSubrange(question.prefix(self.question.name.wire.count), with: self.question.name.wire)
        }
        do throws(MessageParseError) {
            return reply(in: try MessageParser.parse(plain))
        } catch {
            return .unusable(.unusable("the response cannot be read: \(error)"))
        }
    }

    private func reply(in message: Message) -> Reply {
        switch ReceivedReply(message, to: question, dnssecOK: dnssecOK) {
        case .answer(let answer):
            // A referral: the server does not recurse, and names other servers to query (RFC 1034 section 4.3.1).
            let isReferral =
                message.responseCode == .noError && message.answers.isEmpty
                && message.flags.isDisjoint(with: [.recursionAvailable, .authoritative])
                && !message.authorities.contains { $0.type == .soa }
            return isReferral ? .refusal(.rejected("the server does not do recursion")) : .answer(answer)
        case .failure(let code): return .refusal(.responseCode(code))
        case .endlessAliases: return .refusal(.rejected("the name's chain of aliases has no end"))
        case .truncated, .mismatch: return .unusable(.unusable("the reply does not belong to the question"))
        }
    }

    /// It has TC set, even over TCP.
    static let truncated = UpstreamFailure.unusable("the response is truncated")

    /// Whether this query's question is its only one, in any letter case. It is at byte 12 of both, where its name
    /// cannot be compressed.
    private func hasQuestion(_ reply: [UInt8]) -> Bool {
        guard reply.count >= questionEnd, reply[4] == 0, reply[5] == 1 else { return false }
        let nameEnd = Header.length + question.name.wire.count
        return reply[nameEnd..<questionEnd] == bytes[nameEnd..<questionEnd]
            && reply[Header.length..<nameEnd].elementsEqual(bytes[Header.length..<nameEnd]) {
                asciiLowercased($0) == asciiLowercased($1)
            }
    }
}

extension ResponseCode {
    /// Whether a server may mean by it that it does not support EDNS (RFC 6891 sections 6.1.3 and 7).
    var mayRefuseEDNS: Bool { self == .formatError || self == .notImplemented || self == .badVersion }
}

/// One query to one server, on a socket of its own.
///
/// The kernel chooses the socket's port at random, and passes on only what comes from the server's address and port.
/// Over UDP the exchange listens until a datagram is the response; over TCP it ends with the first message
/// (RFC 7766 section 8).
@Loop
final class LocalDNSExchange {
    /// Where one read goes, of any socket: more than any requested size of a datagram. So much allocated for each read would
    /// make the allocator consolidate its free memory each time.
    private static let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 1)
    /// Reads in one turn of the loop.
    private nonisolated static let readsPerTurn = 16

    private let query: LocalDNSQuery
    private let onReply: @Loop (LocalDNSQuery.Reply) -> Void
    /// Nil once it has ended.
    private var socket: Descriptor?
    private var watch: Watch?
    private var isSent = false
    private var isStream: Bool { query.transport == .tcp }
    /// What a stream has brought: the length of a message, and its beginning.
    private var received: [UInt8] = []

    /// Opens the socket, and over UDP sends the query.
    ///
    /// - Parameter onReply: called once when it has ended, and its socket is closed; before that each time that a datagram is in
    ///   another letter case. Never before this returns, nor after `close()`.
    /// - Throws: `UpstreamFailure.overloaded` without descriptors or memory, `UpstreamFailure.network` without a route.
    init(
        _ query: LocalDNSQuery, to server: LocalDNSServer, on loop: EventLoop,
        onReply: @escaping @Loop (LocalDNSQuery.Reply) -> Void
    ) throws(UpstreamFailure) {
        self.query = query
        self.onReply = onReply
        let opened = try Self.open(server, query.transport)
        let number = opened.number
        socket = consume opened
        if !isStream { try send(query.bytes) }
        do {
            watch = try loop.watch(number, for: isStream ? .writable : .readable) { [weak self] _ in self?.serve() }
        } catch {
            throw .overloaded("no socket for LocalDNS: \(error.reason)")
        }
    }

    private static func open(_ server: LocalDNSServer, _ transport: Transport) throws(UpstreamFailure) -> Descriptor {
        let scope = server.interface.map { unsafe if_nametoindex($0) } ?? 0
        let address = SocketAddress(server.address, port: server.port, scope: scope)
        do throws(SystemError) {
            return try .connecting(to: address, transport) { number in
                guard let interface = server.interface else { return }
                // Without the right to bind it, the routes decide; for a link-local address its scope does.
                _ = unsafe setsockopt(number, SOL_SOCKET, SO_BINDTODEVICE, interface, socklen_t(interface.utf8.count))
            }
        } catch {
            throw failure(error)
        }
    }

    /// The failure of a system call; clients may see it.
    private static func failure(_ error: SystemError) -> UpstreamFailure {
        if let shortage = error.shortage { return .overloaded("no socket for LocalDNS: \(shortage)") }
        return .network(error.code == ECONNREFUSED ? "no connection" : error.description)
    }

    private func send(_ bytes: [UInt8]) throws(UpstreamFailure) {
        guard let number = socket?.number else { return }
        let count = unsafe Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        guard count >= 0 else { throw Self.failure(.last("send")) }
        // So few bytes fit into any socket's buffer.
        guard count == bytes.count else { throw .network("the server takes nothing") }
        isSent = true
    }

    private func serve() {
        guard isSent else {
            do throws(UpstreamFailure) {
                let count = query.bytes.count
                try send([UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)] + query.bytes)
                watch?.update(.readable)
            } catch {
                end(.lost(error))
            }
            return
        }
        for _ in 0..<Self.readsPerTurn {
            // Also `onReply` may have closed it.
            guard let number = socket?.number else { return }
            let count = unsafe recv(number, Self.input.baseAddress, Self.input.count, 0)
            let bytes = unsafe [UInt8](Self.input.prefix(max(0, count)))
            if count < 0 {
                if errno == EAGAIN { return }
                if errno != EINTR { return end(.lost(Self.failure(.last("receive")))) }
            } else if !isStream {
                switch query.reply(in: bytes) {
                case nil: break
                case .otherLetterCase?: onReply(.otherLetterCase)
                case let reply?: return end(reply)
                }
            } else if count == 0 {
                return end(.lost(.network("the connection was closed")))
            } else {
                received += bytes
                let length = received.count < 2 ? .max : 2 + Int(received[0]) << 8 + Int(received[1])
                if received.count >= length {
                    let reply = query.reply(in: Array(received[2..<length]))
                    return end(reply ?? .unusable(.unusable("not a response to the query")))
                }
            }
        }
    }

    private func end(_ reply: LocalDNSQuery.Reply) {
        close()
        onReply(reply)
    }

    /// Ends the exchange, and closes the socket; nothing is reported any more.
    func close() {
        watch.take()?.cancel()
        socket = nil
    }
}
