import CHiredis

/// The replies in the bytes that Redis sends, taken apart by hiredis. What can write to the server, or stands between,
/// chooses the bytes: what is held of them is bounded.
@safe struct RedisReader: ~Copyable {
    /// The most bytes of a value: a reply, or one of the few of an array. A sealed answer is shorter (`SealedAnswer.longest`).
    static let longestReply = 16_384
    /// The most bytes of the text of a status or an error.
    fileprivate static let longestText = 120

    /// The bytes are no replies, or a reply is longer than the limit: what follows cannot be read either.
    struct Damage: Error, Equatable {
        let reason: String
    }

    /// Owned.
    private let reader: UnsafeMutablePointer<chiredis_reader>

    /// Nil without memory.
    init?() {
        guard let reader = unsafe chiredis_create() else { return nil }
        unsafe self.reader = unsafe reader
    }

    deinit { unsafe chiredis_free(reader) }

    /// Adds received bytes, and passes on each reply that they complete.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, _ take: (RedisReply) -> Void) throws(Damage) {
        guard unsafe chiredis_feed(reader, bytes.baseAddress, bytes.count) != 0 else {
            throw Damage(reason: "no memory")
        }
        while let reply = try next() { take(reply) }
        guard unsafe chiredis_unread(reader) <= Self.longestReply else {
            throw Damage(reason: "a reply is longer than \(Self.longestReply) bytes")
        }
    }

    private mutating func next() throws(Damage) -> RedisReply? {
        var failed: Int32 = 0
        let reply = unsafe chiredis_next(reader, &failed)
        guard failed == 0 else { throw Damage(reason: "what it sends is not Redis's protocol") }
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

    /// Adds it in the protocol's form: an array of byte strings. Thousands may be sent in a second: nothing is allocated.
    func append(to bytes: inout [UInt8]) {
        Self.append(UInt8(ascii: "*"), arguments.count + 1, to: &bytes)
        Self.append(UInt8(ascii: "$"), name.utf8.count, to: &bytes)
        bytes += name.utf8
        for argument in arguments {
            Self.endLine(&bytes)
            Self.append(UInt8(ascii: "$"), argument.count, to: &bytes)
            bytes += argument
        }
        Self.endLine(&bytes)
    }

    /// The head of an array or a string: its kind and its count.
    private static func append(_ kind: UInt8, _ count: Int, to bytes: inout [UInt8]) {
        bytes.append(kind)
        append(decimal: count, to: &bytes)
        endLine(&bytes)
    }

    private static func endLine(_ bytes: inout [UInt8]) {
        bytes.append(13)
        bytes.append(10)
    }

    private static func append(decimal number: Int, to bytes: inout [UInt8]) {
        if number > 9 { append(decimal: number / 10, to: &bytes) }
        bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}
