package import DNSWire

/// The secrets by which this server knows the addresses of clients again (RFC 7873 section 6, RFC 9018 section 5).
package struct ServerCookies: Sendable {
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
    package init() {
        var random = SystemRandomNumberGenerator()
        secrets = .own(SipHash.Key(low: random.next(), high: random.next()))
    }

    /// - Parameter shared: 16 bytes each, at least one of them.
    package init?(shared: [[UInt8]]) {
        let keys = shared.compactMap { SipHash.Key($0) }
        guard !keys.isEmpty, keys.count == shared.count else { return nil }
        secrets = .shared(keys)
    }

    /// The cookie with which a query is answered, and whether the one that it has was valid; nil: it has none.
    ///
    /// - Parameters:
    ///   - message: the message from which `query` was read, without a fault.
    ///   - time: in seconds since 1970, the lowest 32 bits of it.
    package func answer(
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
