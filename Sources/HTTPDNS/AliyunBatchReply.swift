import DNSWire

/// The body of Aliyun's reply for several names, or of its error.
///
/// One element for each name and type, in any order; older services leave the type out and list both families together.
struct AliyunBatchReply {
    struct Element {
        fileprivate(set) var host = ""
        /// Nil: not told, the addresses may be of either family.
        fileprivate(set) var type: RecordType?
        fileprivate(set) var list = AddressList()
    }

    /// Nil when the body has no `dns`, as an error has none.
    private(set) var elements: [Element]?
    private(set) var code: String?

    init(_ body: [UInt8]) throws(JSONError) {
        var reply = AliyunBatchReply()
        try JSONReader.read(body) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in
                guard try reader.kind() != .null else { return }
                switch key {
                case "dns": reply.elements = try Self.elements(&reader)
                case "code": reply.code = try reader.stringIfAny()
                default: break
                }
            }
        }
        self = reply
    }

    private init() {}

    private static func elements(_ reader: inout JSONReader) throws(JSONError) -> [Element] {
        var elements: [Element] = []
        try reader.array { reader throws(JSONError) in
            var element = Element()
            try reader.object { reader, key throws(JSONError) in
                guard try reader.kind() != .null else { return }
                switch key {
                case "host": element.host = try reader.string()
                case "ips": element.list.texts = try reader.strings()
                case "ttl": element.list.ttl = try reader.integer()
                case "type":
                    // One that means nothing must not pass for one that is missing.
                    let type = UInt16(exactly: try reader.integer()).map { RecordType(rawValue: $0) }
                    guard let type, type.isAddress else { throw reader.fault(.badValue) }
                    element.type = type
                default: break
                }
            }
            elements.append(element)
        }
        return elements
    }
}
