import DNSWire

/// The body of a response of Aliyun's v2 interface, or of an error.
struct AliyunV2Reply {
    enum Data {
        case plain([AliyunV2Answer])
        /// Base64 of encrypted data, or JSON as text.
        case text(String)
    }

    /// `success`, or an error code.
    private(set) var code: String?
    /// Nil when it is missing.
    private(set) var mode: OutsideNumber?
    private(set) var data: Data?

    init(_ body: [UInt8]) throws(JSONError) {
        var reply = AliyunV2Reply()
        try JSONReader.read(body) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in try reply.read(&reader, key) }
        }
        self = reply
    }

    private init() {}

    private mutating func read(_ reader: inout JSONReader, _ key: String) throws(JSONError) {
        switch (key, try reader.kind()) {
        case ("code", .string): code = try reader.string()
        case ("mode", .number): mode = try reader.integer()
        case ("mode", .string):
            guard let number = OutsideNumber(digits: try reader.string()) else { throw reader.fault(.badValue) }
            mode = number
        case ("data", .string): data = .text(try reader.string())
        case ("data", .object): data = .plain(try AliyunV2Answer.all(&reader))
        default: break
        }
    }
}

/// One name of such a response.
struct AliyunV2Answer {
    /// One family of its addresses.
    struct Family {
        fileprivate(set) var list = AddressList()
        /// Why there are no addresses, if the service gave a reason.
        fileprivate(set) var emptyCode: String?

        /// The result for `type`. Two codes are known; with any other, or none, an empty list is indeterminate.
        func result(for type: RecordType, of name: Name) -> UpstreamResult {
            guard list.texts.isEmpty else { return list.result(for: type, of: name) }
            return switch emptyCode {
            case "DomainNotExist": list.negative(.nameError, name)
            case "RRNotExist": list.negative(.noError, name)
            default: list.result(for: type, of: name)
            }
        }
    }

    fileprivate(set) var host = ""
    /// By type; a type that was not queried is missing.
    fileprivate(set) var families: [RecordType: Family] = [:]

    /// Parses the text of `{"answers":[…]}`.
    static func all(in text: [UInt8]) throws(JSONError) -> [AliyunV2Answer] {
        try JSONReader.read(text) { reader throws(JSONError) in try all(&reader) }
    }

    /// Parses such an object.
    static func all(_ reader: inout JSONReader) throws(JSONError) -> [AliyunV2Answer] {
        var answers: [AliyunV2Answer] = []
        try reader.object { reader, key throws(JSONError) in
            guard key == "answers", try reader.kind() != .null else { return }
            try reader.array { reader throws(JSONError) in answers.append(try one(&reader)) }
        }
        return answers
    }

    private static func one(_ reader: inout JSONReader) throws(JSONError) -> AliyunV2Answer {
        var answer = AliyunV2Answer()
        try reader.object { reader, key throws(JSONError) in
            guard try reader.kind() != .null else { return }
            switch key {
            case "dn": answer.host = try reader.string()
            case "v4": answer.families[.a] = try family(&reader)
            case "v6": answer.families[.aaaa] = try family(&reader)
            default: break
            }
        }
        return answer
    }

    private static func family(_ reader: inout JSONReader) throws(JSONError) -> Family {
        var family = Family()
        try reader.object { reader, key throws(JSONError) in
            guard try reader.kind() != .null else { return }
            switch key {
            case "ips": family.list.texts = try reader.strings()
            case "ttl": family.list.ttl = try reader.integer()
            case "no_ip_code": family.emptyCode = try reader.stringIfAny()
            default: break
            }
        }
        return family
    }
}
