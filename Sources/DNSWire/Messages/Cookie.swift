/// A DNS cookie: what a client made, and what a server made of it, by which the server knows that the client's address is
/// not forged (RFC 7873, RFC 9018).
package struct Cookie: Hashable, Sendable {
    /// Bytes of the option in a response, its code and length included.
    package static let optionLength = 28
    /// Bytes of a client's part, which may be alone.
    package static let clientLength = 8
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

    /// The cookie with which a client is answered, and whether the one that it has sent was valid.
    ///
    /// - Parameters:
    ///   - data: of the option: 8 bytes, or 16 to 40.
    ///   - address: the client's.
    ///   - keys: the first one is that by which cookies are made; all are accepted. At least one.
    ///   - time: in seconds since 1970, the lowest 32 bits of it.
    package static func answering(
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
    package func append(to bytes: inout [UInt8]) {
        let code = EDNSOption.Code.cookie.rawValue
        bytes += [UInt8(code >> 8), UInt8(truncatingIfNeeded: code), 0, 24]
        for word in [client, head, hash] {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
    }
}
