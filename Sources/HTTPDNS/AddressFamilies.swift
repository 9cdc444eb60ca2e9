import DNSWire

/// The address families of a query: IPv4, IPv6, or both.
enum AddressFamilies {
    case v4, v6, both

    /// Throws without types, and for any type but A and AAAA.
    init(_ types: [RecordType]) throws(UpstreamFailure) {
        guard !types.isEmpty, types.allSatisfy(\.isAddress) else {
            throw .rejected("only A and AAAA can be asked for")
        }
        self = !types.contains(.aaaa) ? .v4 : types.contains(.a) ? .both : .v6
    }

    /// The parameter's value in both of Aliyun's interfaces.
    var aliyunText: String {
        switch self {
        case .v4: "4"
        case .v6: "6"
        case .both: "4,6"
        }
    }
}
