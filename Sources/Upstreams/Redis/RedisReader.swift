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
