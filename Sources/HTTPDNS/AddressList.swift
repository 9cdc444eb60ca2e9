import DNSWire

/// What a service lists for one name, or for one family of its addresses.
struct AddressList {
    /// The TTL, in seconds, of addresses that come with none, with 0, or with a negative one.
    private static let minimumTTL: UInt32 = 60
    /// Up to so many addresses are sooner walked than hashed.
    private static let few = 8

    /// As they came: any text.
    var texts: [String] = []
    /// Seconds; 0 when there is none.
    var ttl: Int64 = 0

    /// The TTL, if it is one: 1 to 2^31 - 1.
    var toldTTL: UInt32? { ttl > 0 ? UInt32(min(ttl, Int64(Int32.max))) : nil }

    /// The addresses of one family, in the service's order, each once; text that is none, or of the other family,
    /// dropped.
    func addresses(of type: RecordType) -> [IPAddress] {
        var addresses: [IPAddress] = []
        var seen: Set<IPAddress> = []
        for text in texts {
            guard let address = IPAddress(text), address.recordType == type else { continue }
            if addresses.count < Self.few {
                if addresses.contains(address) { continue }
            } else {
                if seen.isEmpty { seen = Set(addresses) }
                guard seen.insert(address).inserted else { continue }
            }
            addresses.append(address)
        }
        return addresses
    }

    /// What the list means for one type of `name`; empty is empty without a cause.
    func result(for type: RecordType, of name: Name) -> ServiceResult {
        let addresses = addresses(of: type)
        guard !addresses.isEmpty else { return .unknownEmpty(ttl: toldTTL) }
        return .answer(Answer(name: name, addresses: addresses, ttl: toldTTL ?? Self.minimumTTL))
    }

    /// A negative answer that the service told, with its TTL.
    func negative(_ responseCode: ResponseCode, _ name: Name) -> ServiceResult {
        .answer(.negative(responseCode, name: name, ttl: toldTTL ?? Self.minimumTTL))
    }
}
