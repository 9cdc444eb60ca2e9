import Platform

/// The header with which a proxy begins a connection: the PROXY protocol, version 2
/// (https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt, section 2.2).
struct ProxyHeader {
    enum Progress: Equatable {
        /// At most so many more bytes are to be read, at least one: what follows the header is TLS's.
        case needs(Int)
        /// - Parameter client: nil: the connection is the proxy's own, such as a check of health.
        case isDone(client: SocketAddress?)
        /// It is no header, or one of something else than TCP.
        case isInvalid
    }

    private static let signature: [UInt8] = [
        0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a,
    ]
    /// Bytes before the addresses.
    private static let fixed = 16
    /// The most bytes behind them: addresses, and what proxies add to them.
    private static let longest = 1_024

    private var bytes: [UInt8] = []

    /// Takes bytes that were received, no more than were needed.
    mutating func append(_ received: some Collection<UInt8>) { bytes += received }

    var progress: Progress {
        guard bytes.elementsEqual(Self.signature.prefix(bytes.count)) || bytes.count > Self.signature.count else {
            return .isInvalid
        }
        guard bytes.count >= Self.fixed else { return .needs(Self.fixed - bytes.count) }
        let length = Int(bytes[14]) << 8 | Int(bytes[15])
        guard bytes.starts(with: Self.signature), bytes[12] >> 4 == 2, length <= Self.longest else {
            return .isInvalid
        }
        guard bytes.count >= Self.fixed + length else { return .needs(Self.fixed + length - bytes.count) }
        switch (bytes[12] & 0xf, bytes[13]) {
        case (0, _), (1, 0): return .isDone(client: nil)
        case (1, 0x11) where length >= 12:
            let address = UInt32(truncatingIfNeeded: number(at: Self.fixed, count: 4))
            return .isDone(client: SocketAddress(ipv4: address, port: port(at: Self.fixed + 8)))
        case (1, 0x21) where length >= 36:
            let (high, low) = (number(at: Self.fixed, count: 8), number(at: Self.fixed + 8, count: 8))
            let port = port(at: Self.fixed + 32)
            // A proxy that listens on both families reports a client of IPv4 as `::ffff:192.0.2.1`.
            if high == 0, low >> 32 == 0xffff {
                return .isDone(client: SocketAddress(ipv4: UInt32(truncatingIfNeeded: low), port: port))
            }
            return .isDone(client: SocketAddress(ipv6: high, low, port: port))
        default: return .isInvalid
        }
    }

    private func number(at place: Int, count: Int) -> UInt64 {
        bytes[place..<(place + count)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func port(at place: Int) -> UInt16 { UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1]) }
}
