import CHiredis
import DNSWire

/// The replies in the bytes that Redis sends, taken apart by hiredis. What can write to the server, or stands between,
/// chooses the bytes: what is held of them is bounded.
@safe struct RedisReader: ~Copyable {
    /// The most bytes of a value: a reply, or one of the few of an array. A sealed answer is shorter (`SealedAnswer.longest`).
    static let longestReply = 16_384
    /// The most bytes of the text of a status or an error.
    fileprivate static let longestText = 120

    /// Owned.
    private let reader: UnsafeMutablePointer<chiredis_reader>

    /// Nil without memory.
    init?() {
        guard let reader = unsafe chiredis_create() else { return nil }
        unsafe self.reader = unsafe reader
    }

    deinit { unsafe chiredis_free(reader) }

    /// Adds received bytes, and passes on each reply that they complete. Throws where they are no replies, or one is longer
    /// than the limit: what follows cannot be read either.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, _ take: (RedisReply) -> Void) throws(UpstreamFailure) {
        guard unsafe chiredis_feed(reader, bytes.baseAddress, bytes.count) != 0 else { throw .unusable("no memory") }
        while let reply = try next() { take(reply) }
        guard unsafe chiredis_unread(reader) <= Self.longestReply else {
            throw .unusable("a reply is longer than \(Self.longestReply) bytes")
        }
    }

    private mutating func next() throws(UpstreamFailure) -> RedisReply? {
        var failed: Int32 = 0
        let reply = unsafe chiredis_next(reader, &failed)
        guard failed == 0 else { throw .unusable("what it sends is not Redis's protocol") }
        guard let reply = unsafe reply else { return nil }
        defer { unsafe freeReplyObject(reply) }
        return unsafe RedisReply(reply.pointee)
    }
}

extension RedisReply {
    /// A copy of hiredis's object; the reader has no array in an array.
    fileprivate init(_ reply: redisReply) {
        switch unsafe reply.type {
        case REDIS_REPLY_STATUS: self = unsafe .status(Self.text(reply))
        case REDIS_REPLY_ERROR: self = unsafe .error(Self.text(reply))
        case REDIS_REPLY_INTEGER: self = unsafe .integer(reply.integer)
        case REDIS_REPLY_STRING: self = unsafe .bytes(Self.bytes(reply))
        case REDIS_REPLY_ARRAY:
            let elements = unsafe UnsafeBufferPointer(start: reply.element, count: reply.elements)
            self = unsafe .list(
                elements.map { element in unsafe element.map { unsafe RedisReply($0.pointee) } ?? .nothing })
        default: self = .nothing
        }
    }

    private static func bytes(_ reply: redisReply) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: reply.str, count: reply.len))
    }

    /// Printable ASCII, cut to a length that fits a line of the log.
    private static func text(_ reply: redisReply) -> String {
        let bytes = unsafe bytes(reply).prefix(RedisReader.longestText).map { (0x20...0x7e).contains($0) ? $0 : 0x3f }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A reply of Redis in its protocol's second version (RESP2), or a part of one.
enum RedisReply: Equatable, Sendable {
    /// A command was carried out; mostly `OK`.
    case status(String)
    /// A command was refused: a code in capitals, and a text.
    case error(String)
    case integer(Int64)
    case bytes([UInt8])
    /// There is no value.
    case nothing
    case list([RedisReply])

    /// Why the command was refused; nil when it was not.
    var refusal: String? { if case .error(let text) = self { text } else { nil } }
}

/// A command to Redis: its name and its arguments, any bytes.
struct RedisCommand: Equatable, Sendable {
    /// For logs too; never with an argument, which may be a secret.
    let name: String
    let arguments: [[UInt8]]

    init(_ name: String, _ arguments: [[UInt8]]) {
        self.name = name
        self.arguments = arguments
    }

    init(_ name: String, _ arguments: [UInt8]...) { self.init(name, arguments) }

    /// Adds it in the protocol's form: an array of byte strings.
    func append(to bytes: inout [UInt8]) {
        Self.append(head: "*", arguments.count + 1, to: &bytes)
        Self.append(name.utf8, to: &bytes)
        for argument in arguments { Self.append(argument, to: &bytes) }
    }

    private static func append(_ word: some Collection<UInt8>, to bytes: inout [UInt8]) {
        append(head: "$", word.count, to: &bytes)
        bytes += word
        bytes += "\r\n".utf8
    }

    /// - Parameter head: of an array or a string.
    private static func append(head: String, _ count: Int, to bytes: inout [UInt8]) {
        bytes += head.utf8
        bytes += String(count).utf8
        bytes += "\r\n".utf8
    }
}
