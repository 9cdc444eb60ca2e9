import DNSWire

/// The body of Aliyun's reply for one name, or of its error.
struct AliyunReply {
    private(set) var host: String?
    /// Address text as it came: IPv4 in `ips`, IPv6 in `ipsv6`.
    private(set) var ips: [String] = []
    private(set) var ipsv6: [String] = []
    /// Seconds, for both families; 0 when there is none.
    private(set) var ttl: Int64 = 0
    /// The error code, if the body is an error.
    private(set) var code: String?

    init(_ body: [UInt8]) throws(JSONError) {
        var reply = AliyunReply()
        try JSONReader.read(body) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in try reply.read(&reader, key) }
        }
        self = reply
    }

    private init() {}

    private mutating func read(_ reader: inout JSONReader, _ key: String) throws(JSONError) {
        // A member that is null is as one that is missing.
        guard try reader.kind() != .null else { return }
        switch key {
        case "host": host = try reader.string()
        case "ips": ips = try Self.strings(&reader)
        case "ipsv6": ipsv6 = try Self.strings(&reader)
        case "ttl": ttl = try reader.integer()
        case "code": code = try reader.kind() == .string ? reader.string() : nil
        default: break
        }
    }

    private static func strings(_ reader: inout JSONReader) throws(JSONError) -> [String] {
        var strings: [String] = []
        try reader.array { reader throws(JSONError) in
            if try reader.kind() == .string { strings.append(try reader.string()) }
        }
        return strings
    }

    /// The addresses of one family, in the service's order, each once; text that is none, or of the other family,
    /// dropped.
    func addresses(of type: RecordType) -> [IPAddress] {
        var seen: Set<IPAddress> = []
        return (type == .a ? ips : ipsv6).compactMap { IPAddress($0) }.filter {
            $0.recordType == type && seen.insert($0).inserted
        }
    }
}
