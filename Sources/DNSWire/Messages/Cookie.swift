/// A DNS cookie: what a client made, and what a server made of it, by which the server knows that the client's address is
/// not forged (RFC 7873, RFC 9018).
public struct Cookie: Hashable, Sendable {
    /// Bytes of the option in a response, its code and length included.
    public static let optionLength = 28
    /// Bytes of a client's part, which may be alone.
    public static let clientLength = 8
    /// How long a server's part is valid, in seconds, and how far its time may be ahead (RFC 9018 section 4.3).
    private static let lifetime: Int32 = 3_600
    private static let longestSkew: Int32 = 300
    /// From which age on a valid one is replaced, in seconds.
    private static let renewal: Int32 = 1_800
    private static let version: UInt64 = 1 << 56

    /// The client's part.
    private let client: UInt64
    /// Version, three reserved bytes, and the time in seconds since 1970; the first byte in the highest bits.
    private let head: UInt64
    /// The hash, as it is sent.
    private let hash: UInt64

    private init(client: UInt64, head: UInt64, from address: IPAddress, _ key: SipHash.Key) {
        (self.client, self.head) = (client, head)
        hash = Self.hash(client, head, address, key)
    }

    /// The cookie with which a client at this address is answered, at a time of which the lowest 32 bits are in seconds
    /// since 1970, and whether the one that it has sent was valid: option data of 8 bytes, or 16 to 40. The first of the
    /// keys, one at least, makes cookies; all are accepted.
    public static func answering(
        _ data: Span<UInt8>, from address: IPAddress, keys: Span<SipHash.Key>, at time: UInt32
    ) -> (cookie: Cookie, isValid: Bool)? {
        guard data.count >= clientLength, !keys.isEmpty else { return nil }
        let client = word(data, at: 0)
        let fresh = Cookie(client: client, head: version | UInt64(time), from: address, keys[0])
        // The hash covers the reserved bytes, whatever they are (RFC 9018 section 4.2).
        guard data.count == 24, data[8] == 1 else { return (fresh, false) }
        let (head, hash) = (word(data, at: 8), word(data, at: 16))
        let age = Int32(bitPattern: time &- UInt32(truncatingIfNeeded: head))
        guard age <= lifetime, age >= -longestSkew else { return (fresh, false) }
        for index in keys.indices where Self.hash(client, head, address, keys[index]) == hash {
            let isRenewed = index > 0 || age > renewal || head >> 32 != version >> 32
            return (isRenewed ? fresh : Cookie(client: client, head: head, from: address, keys[0]), true)
        }
        return (fresh, false)
    }

    /// Of client's part, version, reserved bytes, time and address (RFC 9018 section 4.4).
    private static func hash(_ client: UInt64, _ head: UInt64, _ address: IPAddress, _ key: SipHash.Key) -> UInt64 {
        var hash = SipHash(key)
        hash.append(client.byteSwapped)
        hash.append(head.byteSwapped)
        switch address {
        case .v4(let value): return hash.finish(UInt64(value.byteSwapped), 4).byteSwapped
        case .v6(let value):
            hash.append(UInt64(truncatingIfNeeded: value >> 64).byteSwapped)
            hash.append(UInt64(truncatingIfNeeded: value).byteSwapped)
            return hash.finish().byteSwapped
        }
    }

    private static func word(_ bytes: Span<UInt8>, at place: Int) -> UInt64 {
        (0..<8).reduce(0) { $0 << 8 | UInt64(bytes[place + $1]) }
    }

    /// Appends the option.
    public func append(to bytes: inout [UInt8]) {
        let code = EDNSOption.Code.cookie.rawValue
        bytes += [UInt8(code >> 8), UInt8(truncatingIfNeeded: code), 0, 24]
        for word in [client, head, hash] {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
    }
}

/// The secrets by which this server knows the addresses of clients again (RFC 7873 section 6, RFC 9018 section 5).
public struct ServerCookies: Sendable {
    /// Seconds for which an own secret makes cookies (RFC 7873 section 7.1 recommends at most 26 hours).
    private static let ownLifetime: UInt32 = 86_400

    private enum Secrets: Sendable {
        /// One for each day, made of this key.
        case own(SipHash.Key)
        /// Those of several servers: the first makes cookies, all are accepted.
        case shared([SipHash.Key])
    }

    private let secrets: Secrets

    /// With secrets of its own, which end with the process.
    public init() {
        var random = SystemRandomNumberGenerator()
        secrets = .own(SipHash.Key(low: random.next(), high: random.next()))
    }

    /// - Parameter shared: 16 bytes each, at least one of them.
    public init?(shared: [[UInt8]]) {
        let keys = shared.compactMap { SipHash.Key($0) }
        guard !keys.isEmpty, keys.count == shared.count else { return nil }
        secrets = .shared(keys)
    }

    /// The cookie with which a query is answered, which was read from the message without a fault, at such a time, and
    /// whether the one that it has was valid; nil: it has none.
    public func answer(
        _ query: Query, in message: Span<UInt8>, from client: IPAddress, at time: UInt32
    ) -> (cookie: Cookie, isValid: Bool)? {
        guard query.hasCookie, let place = query.cookie(in: message) else { return nil }
        let data = message.extracting(place)
        switch secrets {
        case .shared(let keys): return Cookie.answering(data, from: client, keys: keys.span, at: time)
        case .own(let key):
            let day = time / Self.ownLifetime
            let keys = [Self.key(of: day, key), Self.key(of: day &- 1, key)]
            return Cookie.answering(data, from: client, keys: keys.span, at: time)
        }
    }

    private static func key(of day: UInt32, _ key: SipHash.Key) -> SipHash.Key {
        SipHash.Key(low: SipHash(key).finish(UInt64(day), 5), high: SipHash(key).finish(UInt64(day) | 1 << 32, 5))
    }
}

/// SipHash-2-4: a hash with a key, of few bytes (Aumasson and Bernstein, 2012).
public struct SipHash: Sendable {
    /// The key.
    public struct Key: Hashable, Sendable {
        fileprivate let low: UInt64
        fileprivate let high: UInt64

        /// - Parameter bytes: 16 of them; nil for another number.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count == 16 else { return nil }
            low = bytes[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            high = bytes[8...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }

        public init(low: UInt64, high: UInt64) { (self.low, self.high) = (low, high) }
    }

    private var (v0, v1, v2, v3): (UInt64, UInt64, UInt64, UInt64)
    private var count = 0

    public init(_ key: Key) {
        v0 = key.low ^ 0x736f_6d65_7073_6575
        v1 = key.high ^ 0x646f_7261_6e64_6f6d
        v2 = key.low ^ 0x6c79_6765_6e65_7261
        v3 = key.high ^ 0x7465_6462_7974_6573
    }

    /// Adds eight bytes, the first of them in the lowest bits.
    public mutating func append(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
        count += 8
    }

    /// The hash with the last bytes, fewer than eight, the first of them in the lowest bits; the others are 0.
    public consuming func finish(_ rest: UInt64 = 0, _ restCount: Int = 0) -> UInt64 {
        append(UInt64(truncatingIfNeeded: count + restCount) << 56 | rest)
        v2 ^= 0xff
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func round() {
        v0 &+= v1
        v1 = v1 << 13 | v1 >> 51
        v1 ^= v0
        v0 = v0 << 32 | v0 >> 32
        v2 &+= v3
        v3 = v3 << 16 | v3 >> 48
        v3 ^= v2
        v0 &+= v3
        v3 = v3 << 21 | v3 >> 43
        v3 ^= v0
        v2 &+= v1
        v1 = v1 << 17 | v1 >> 47
        v1 ^= v2
        v2 = v2 << 32 | v2 >> 32
    }
}
