public import DNSWire

/// A change of the network reported by the kernel (rtnetlink(7)), as far as it matters to a resolver.
public enum RouteMessage: Hashable, Sendable {
    /// An interface was added, or its state or name has changed.
    case link(Link)
    case linkGone(index: UInt32)
    case address(Address, isGone: Bool)
    case route(Route, isGone: Bool)
    /// The end of a requested dump.
    case dumpEnded

    /// An interface.
    public struct Link: Hashable, Sendable {
        public var index: UInt32
        public var name: String
        public var isLoopback = false
        /// Enabled (IFF_UP), and with a carrier (IFF_LOWER_UP).
        public var isUp: Bool
        /// Whether it is a port of a bridge or a bond, and so not used by itself.
        public var isPort = false
    }

    /// An address of an interface.
    public struct Address: Hashable, Sendable {
        public var index: UInt32
        public var address: IPAddress
        /// Whether it is usable beyond the link and settled: neither tentative nor temporary (RFC 4862, 8981).
        public var isLasting = true
    }

    /// A route in one of the kernel's tables.
    public struct Route: Hashable, Sendable {
        /// Where it leads.
        public var network: AddressPrefix
        public var gateway: IPAddress?
        /// The outgoing interface; nil for a route without a single one.
        public var interface: UInt32?
        public var table: UInt32
        /// Priority; a lower value is preferred (RTA_PRIORITY).
        public var metric: UInt32 = 0
        /// Whether its protocol and kind make it count as a change of the network.
        public var isChosen = true
    }
}

/// What about the host's network has changed. Whether that concerns the way to anything is for `NetworkWays` to say.
public enum NetworkSign: Hashable, Sendable {
    /// The link with this index has got or lost its carrier.
    case link(UInt32)
    case newAddress
    case goneAddress(IPAddress)
    case route(RouteMessage.Route)
    /// Reports were lost: anything.
    case unknown
}

/// Splits an rtnetlink datagram into messages.
///
/// The lengths in it are checked although the kernel wrote it: an invalid one ends the parsing.
public struct RouteMessages: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var at = 0
    /// Whether the datagram ended inside a message, or the kernel reported lost messages or a failed request.
    public private(set) var isBroken = false

    private static let headerLength = 16

    /// Type numbers of rtnetlink and netlink messages.
    private enum Kind {
        static let error: UInt16 = 2
        static let done: UInt16 = 3
        static let overrun: UInt16 = 4
        static let newLink: UInt16 = 16
        static let goneLink: UInt16 = 17
        static let newAddress: UInt16 = 20
        static let goneAddress: UInt16 = 21
        static let newRoute: UInt16 = 24
        static let goneRoute: UInt16 = 25
    }

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next message, and whether it belongs to a requested dump; irrelevant messages are skipped.
    public mutating func next() -> (message: RouteMessage, isDump: Bool)? {
        while at < bytes.count {
            let header = bytes[at...]
            guard let length: UInt32 = header.native(at: 0), let kind: UInt16 = header.native(at: 4),
                let flags: UInt16 = header.native(at: 6), length >= Self.headerLength, length <= header.count
            else {
                isBroken = true
                at = bytes.count
                return nil
            }
            let body = header.dropFirst(Self.headerLength).prefix(Int(length) - Self.headerLength)
            // Messages are aligned to four bytes; the last one may lack the padding.
            at += (Int(length) + 3) & ~3
            if kind == Kind.error || kind == Kind.overrun { isBroken = true }
            if let message = Self.message(kind, body) { return (message, flags & 2 != 0) }
        }
        return nil
    }

    private static func message(_ kind: UInt16, _ body: ArraySlice<UInt8>) -> RouteMessage? {
        switch kind {
        case Kind.done: .dumpEnded
        case Kind.newLink: RouteMessage.Link(body).map { .link($0) }
        case Kind.goneLink: RouteMessage.Link(body).map { .linkGone(index: $0.index) }
        case Kind.newAddress: RouteMessage.Address(body).map { .address($0, isGone: false) }
        case Kind.goneAddress: RouteMessage.Address(body).map { .address($0, isGone: true) }
        case Kind.newRoute: RouteMessage.Route(body).map { .route($0, isGone: false) }
        case Kind.goneRoute: RouteMessage.Route(body).map { .route($0, isGone: true) }
        default: nil
        }
    }
}

extension RouteMessage.Link {
    /// Parses `struct ifinfomsg` and its attributes.
    fileprivate init?(_ body: ArraySlice<UInt8>) {
        // A bridge reports its ports in messages of its own family, which carry nothing about the interface.
        guard let family = body.first, family == 0, let index: UInt32 = body.native(at: 4),
            let flags: UInt32 = body.native(at: 8)
        else { return nil }
        let attributes = body.attributes(after: 16)
        let name = attributes[3]?.prefix { $0 != 0 } ?? []
        let master: UInt32 = attributes[10]?.native(at: 0) ?? 0
        self.init(
            index: index, name: String(decoding: name, as: UTF8.self), isLoopback: flags & 0x8 != 0,
            // IFF_UP and IFF_LOWER_UP.
            isUp: flags & 0x1_0001 == 0x1_0001, isPort: master != 0)
    }
}

extension RouteMessage.Address {
    /// Parses `struct ifaddrmsg` and its attributes.
    fileprivate init?(_ body: ArraySlice<UInt8>) {
        guard let family = body.first, let scope = body.dropFirst(3).first, let short = body.dropFirst(2).first,
            let index: UInt32 = body.native(at: 4)
        else { return nil }
        let attributes = body.attributes(after: 8)
        // For a point-to-point link, IFA_ADDRESS is the peer's address.
        guard let address = IPAddress(family: family, attributes[2] ?? attributes[1]) else { return nil }
        let flags: UInt32 = attributes[8]?.native(at: 0) ?? UInt32(short)
        // RT_SCOPE_LINK is 253, RT_SCOPE_HOST 254.
        var isLasting = scope < 253 && !address.isLinkLocal
        // IFA_F_TENTATIVE, IFA_F_DADFAILED, IFA_F_TEMPORARY; the last means "secondary" for IPv4.
        if case .v6 = address, flags & (0x40 | 0x08 | 0x01) != 0 { isLasting = false }
        self.init(index: index, address: address, isLasting: isLasting)
    }
}

extension RouteMessage.Route {
    /// Origins of routes that indicate that a network was joined or left: boot, static, ra, dhcp (RTPROT_*). Not the
    /// kernel, whose own routes come with the address, nor ICMP redirects, nor routing daemons, which change theirs
    /// constantly.
    private static let makers: Set<UInt8> = [3, 4, 9, 16]

    /// Parses `struct rtmsg` and its attributes.
    fileprivate init?(_ body: ArraySlice<UInt8>) {
        let fields = Array(body.prefix(8))
        guard fields.count == 8, let flags: UInt32 = body.native(at: 8) else { return nil }
        let attributes = body.attributes(after: 12)
        let (family, maker, kind) = (fields[0], fields[5], fields[7])
        // A default route has no destination.
        let any = [UInt8](repeating: 0, count: IPAddress.size(family: family) ?? 0)
        guard let destination = IPAddress(family: family, attributes[1] ?? any[...]),
            let network = AddressPrefix(destination, length: Int(fields[1]))
        else { return nil }
        let table: UInt32 = attributes[15]?.native(at: 0) ?? UInt32(fields[4])
        // Unicast, and neither cloned (cached) nor a route to a single host, such as a container.
        let isChosen =
            kind == 1 && flags & 0x200 == 0 && network.length < any.count * 8 && Self.makers.contains(maker)
            && !destination.isLinkLocal && !destination.isMulticast
        self.init(
            network: network, gateway: IPAddress(family: family, attributes[5]),
            interface: attributes[4]?.native(at: 0), table: table,
            metric: attributes[6]?.native(at: 0) ?? 0, isChosen: isChosen)
    }
}

extension IPAddress {
    /// `nil` unless the family has addresses of this length.
    fileprivate init?(family: UInt8, _ bytes: ArraySlice<UInt8>?) {
        guard let bytes, bytes.count == Self.size(family: family) else { return nil }
        self.init(bytes: bytes)
    }

    /// Bytes of an address of a family, AF_INET or AF_INET6; nil for any other one.
    fileprivate static func size(family: UInt8) -> Int? {
        switch family {
        case 2: 4
        case 10: 16
        default: nil
        }
    }
}

extension ArraySlice<UInt8> {
    /// The number in host byte order at `offset` bytes after the start; nil when it does not fit.
    func native<Number: FixedWidthInteger & UnsignedInteger>(at offset: Int) -> Number? {
        let size = MemoryLayout<Number>.size
        guard offset >= 0, offset + size <= count else { return nil }
        // Read as big-endian, then converted to host byte order.
        let number = dropFirst(offset).prefix(size).reduce(Number(0)) { $0 << 8 | Number($1) }
        return Number(littleEndian: number.byteSwapped)
    }

    /// The attributes (`struct rtattr`) that begin after `offset` bytes, by number; the last of each number.
    fileprivate func attributes(after offset: Int) -> [UInt16: ArraySlice<UInt8>] {
        var attributes: [UInt16: ArraySlice<UInt8>] = [:]
        var rest = dropFirst(offset)
        while let length: UInt16 = rest.native(at: 0), let kind: UInt16 = rest.native(at: 2), length >= 4,
            length <= rest.count
        {
            // The upper two bits are flags.
            attributes[kind & 0x3fff] = rest.prefix(Int(length)).dropFirst(4)
            rest = rest.dropFirst((Int(length) + 3) & ~3)
        }
        return attributes
    }
}
