import DNSWire

/// The addresses that a service lists for one name, or for one family of the name.
struct AddressList {
    /// The TTL, in seconds, of addresses without one, with 0, or with a negative one.
    private static let minimumTTL: UInt32 = 60
    /// Up to this number a linear search is faster than hashing.
    private static let few = 8

    /// As received: any text.
    var texts: [String] = []
    /// In seconds; 0 if there is none.
    var ttl: OutsideNumber = 0

    /// The service's TTL, limited to 2^31 - 1; nil if it gave none above 0.
    var statedTTL: UInt32? { ttl > 0 ? ttl.clamped(to: 1...UInt32(Int32.max)) : nil }

    /// The addresses of one family, in the service's order, without duplicates; text that is no address, or one of the
    /// other family, is ignored.
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

    /// The result for one type of `name`; no addresses are an indeterminate empty response. A list in which nothing is an
    /// address is none: it says nothing about the name.
    func result(for type: RecordType, of name: Name) -> UpstreamResult {
        let addresses = addresses(of: type)
        guard !addresses.isEmpty else {
            guard texts.isEmpty || texts.contains(where: { IPAddress($0) != nil }) else {
                return .failure(.unusable("unreadable reply: nothing in its list is an address"))
            }
            return .indeterminateEmpty(ttl: statedTTL)
        }
        return .answer(Answer(name: name, addresses: addresses, ttl: statedTTL ?? Self.minimumTTL))
    }

    /// A negative answer with the service's TTL.
    func negative(_ responseCode: ResponseCode, _ name: Name) -> UpstreamResult {
        .answer(.negative(responseCode, name: name, ttl: statedTTL ?? Self.minimumTTL))
    }
}
