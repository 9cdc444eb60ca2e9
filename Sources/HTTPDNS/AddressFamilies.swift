import DNSWire

/// Which addresses are asked for: IPv4, IPv6, or both.
enum AddressFamilies {
    case v4, v6, both

    /// Throws for no type, and for any but A and AAAA.
    init(_ types: [RecordType]) throws(ServiceFailure) {
        guard !types.isEmpty, types.allSatisfy(\.isAddress) else {
            throw .rejected("only A and AAAA can be asked for")
        }
        self = !types.contains(.aaaa) ? .v4 : types.contains(.a) ? .both : .v6
    }

    /// As both of Aliyun's interfaces want them.
    var aliyunText: String {
        switch self {
        case .v4: "4"
        case .v6: "6"
        case .both: "4,6"
        }
    }
}
