/// The key of a cached answer: lower-cased QNAME, the client's scope where there is one, QTYPE, QCLASS, and the DO and
/// CD bits.
///
/// Fixed-size storage, so that a look-up allocates nothing. The look-up of a hit without a scope does not need it: it
/// reads the same bytes from the client's message.
public struct QueryKey: Sendable {
    /// Only the first `count` bytes are used. There is room for a name of 255, a scope of 35, type, class, and one byte
    /// of flags.
    public var storage: InlineArray<295, UInt8>
    /// Bytes in use: those of the name and the scope, and five.
    public private(set) var count: Int
    /// Whether the key has a client scope.
    public private(set) var isScoped: Bool

    public init() {
        storage = InlineArray(repeating: 0)
        count = 0
        isScoped = false
    }

    /// The key of a question in any letter case; without a scope of an answer that is the same for all clients.
    public init(_ question: borrowing Question, dnssecOK: Bool, checkingDisabled: Bool, scope: ClientScope? = nil) {
        self.init()
        for byte in question.name.wire { append(asciiLowercased(byte)) }
        endName(scope)
        finish(
            type: question.type, class: question.class, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
    }

    /// Byte `index` of the key, below `count`. Not by `storage[index]`, which copies the whole array for each byte.
    public subscript(index: Int) -> UInt8 { storage.span[index] }

    /// The key's bytes as an array, where allocation is acceptable.
    public var array: [UInt8] {
        [UInt8](capacity: count) { bytes in
            let span = storage.span
            for index in 0..<count { bytes.append(span[index]) }
        }
    }

    /// The record type in the key.
    public var type: RecordType {
        get { RecordType(rawValue: UInt16(self[count - 5]) << 8 | UInt16(self[count - 4])) }
        set {
            storage[count - 5] = UInt8(truncatingIfNeeded: newValue.rawValue >> 8)
            storage[count - 4] = UInt8(truncatingIfNeeded: newValue.rawValue)
        }
    }

    /// The key of a query without a fault, parsed from `message`.
    public init(_ query: Query, in message: Span<UInt8>, scope: ClientScope? = nil) {
        self.init()
        for index in Header.length..<(Header.length + query.nameLength) { append(asciiLowercased(message[index])) }
        endName(scope)
        finish(
            type: query.type, class: query.class, dnssecOK: query.dnssecOK,
            checkingDisabled: query.checkingDisabled)
    }

    /// Appends the scope after the name. The name's terminating zero shows where it begins, so no key of a scope equals
    /// one of another, or one without.
    private mutating func endName(_ scope: ClientScope?) {
        isScoped = scope != nil
        scope?.forEachKeyByte { append($0) }
    }

    /// Appends one byte; there is room for the longest of each part.
    private mutating func append(_ byte: UInt8) {
        storage[count] = byte
        count &+= 1
    }

    /// Appends the bytes that follow the name and scope.
    private mutating func finish(type: RecordType, class: RecordClass, dnssecOK: Bool, checkingDisabled: Bool) {
        for value in [type.rawValue, `class`.rawValue] {
            append(UInt8(truncatingIfNeeded: value >> 8))
            append(UInt8(truncatingIfNeeded: value))
        }
        append((dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0))
    }
}

/// The clients for which an answer is valid, when its source may receive client networks (RFC 7871).
///
/// An answer of one scope is never given to a client of another: the scope is part of the key of a cached answer, and
/// of a question under way.
public enum ClientScope: Hashable, Sendable {
    /// No source received a client network: the client has no public one, or its query forbids sending it, or there is
    /// no client.
    case undisclosed
    /// Clients in this network, which a source may have received.
    case network(AddressPrefix)

    /// The network; nil when no source received one.
    public var network: AddressPrefix? { if case .network(let network) = self { network } else { nil } }
}

extension ClientScope {
    /// Calls `body` with each byte of the scope's form in a key, which follows the name; allocates nothing.
    ///
    /// Only bytes without letter case are used, since names in keys are compared case-insensitively.
    @inline(__always)
    func forEachKeyByte(_ body: (UInt8) -> Void) {
        guard case .network(let network) = self else { return body(0) }
        let length = network.length
        let bits: UInt128
        switch network.address {
        case .v4(let value):
            body(1)
            bits = UInt128(value) &<< 96
        case .v6(let value):
            body(2)
            bits = value
        }
        body(UInt8(truncatingIfNeeded: length &>> 4))
        body(UInt8(truncatingIfNeeded: length & 15))
        var digit = 0
        while digit < (length &+ 7) / 8 &* 2 {
            body(UInt8(truncatingIfNeeded: bits &>> UInt128(124 &- 4 &* digit)) & 15)
            digit &+= 1
        }
    }

    /// The same bytes as an array, where allocation is acceptable.
    var keyBytes: [UInt8] {
        var bytes: [UInt8] = []
        forEachKeyByte { bytes.append($0) }
        return bytes
    }

    /// Parses the bytes of `keyBytes`; nil for anything else.
    public init?(keyBytes: [UInt8]) {
        if keyBytes == [0] {
            self = .undisclosed
            return
        }
        guard keyBytes.count >= 3, keyBytes.allSatisfy({ $0 < 16 }), !keyBytes.count.isMultiple(of: 2) else {
            return nil
        }
        let octets = stride(from: 1, to: keyBytes.count, by: 2).map { keyBytes[$0] << 4 | keyBytes[$0 + 1] }
        let size = keyBytes[0] == 1 ? 4 : 16
        let address = IPAddress(
            bytes: octets.dropFirst() + [UInt8](repeating: 0, count: max(0, size + 1 - octets.count)))
        guard let address, let network = AddressPrefix(address, length: Int(octets[0])),
            ClientScope.network(network).keyBytes == keyBytes
        else { return nil }
        self = .network(network)
    }
}

/// The prefix lengths of client networks that are sent to services.
public struct ClientScoping: Hashable, Sendable {
    /// Prefix length for IPv4, 1 to 32.
    public let bits: Int

    /// - Parameter bits: 1 to 32.
    public init(bits: Int) { self.bits = min(max(bits, 1), 32) }

    /// Prefix length for IPv6: the length of about the same precision. 24 and 56 are the lengths that RFC 7871 section
    /// 11.1 recommends, and more than 56 bits are never sent.
    public var bits6: Int { min(bits + 32, 56) }

    /// The network of a client; nil for an address that is not globally routed, and so is not sent to any service.
    public func network(of client: IPAddress) -> AddressPrefix? {
        guard client.isRouted else { return nil }
        return AddressPrefix(client, length: client.recordType == .a ? bits : bits6)
    }

    /// The scope of a client, whose query may forbid sending its network.
    public func scope(of client: IPAddress, hidesNetwork: Bool) -> ClientScope {
        if hidesNetwork { return .undisclosed }
        return network(of: client).map { .network($0) } ?? .undisclosed
    }
}

/// Which client network is sent to a service.
public enum ReportedNetwork: Hashable, Sendable {
    case off
    /// The network of each client.
    case clients(ClientScoping)
    /// One network for all clients.
    case fixed(AddressPrefix)

    /// The prefix lengths of client networks; nil unless clients' networks are sent.
    public var scoping: ClientScoping? { if case .clients(let scoping) = self { scoping } else { nil } }

    /// The network sent for a query of clients in `network`, which may be longer than the service may receive.
    public func reported(for network: AddressPrefix?) -> AddressPrefix? {
        switch self {
        case .off: nil
        case .fixed(let network): network
        case .clients(let scoping): network.flatMap { scoping.network(of: $0.address) }
        }
    }
}

extension ReportedNetwork: CustomStringConvertible {
    /// As the configuration has it: `off`, `client/24`, `192.0.2.0/24`.
    public var description: String {
        switch self {
        case .off: "off"
        case .clients(let scoping): "client/\(scoping.bits)"
        case .fixed(let network): network.description
        }
    }
}
