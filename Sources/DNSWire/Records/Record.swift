/// One resource record, its rdata free of compression (RFC 1035 section 4.1.3, RFC 3597).
public struct Record: Hashable, Sendable {
    public var name: Name
    public let type: RecordType
    public var `class`: RecordClass
    /// Seconds, 0 to 2^31 - 1; a set top bit was read as 0 (RFC 2181 section 8).
    public var ttl: UInt32
    private(set) var data: Data

    /// What rdata is held as: an address takes no allocation.
    enum Data: Hashable, Sendable {
        /// Of an A or AAAA record whose rdata has the right length.
        case address(IPAddress)
        /// Every other.
        case bytes([UInt8])

        var count: Int {
            switch self {
            case .address(.v4): 4
            case .address(.v6): 16
            case .bytes(let bytes): bytes.count
            }
        }
    }

    /// At most 65,535 bytes; names in it are uncompressed.
    public var rdata: [UInt8] {
        get {
            switch data {
            case .address(let address): address.bytes
            case .bytes(let bytes): bytes
            }
        }
        set {
            if type.isAddress, let address = IPAddress(bytes: newValue[...]), address.recordType == type {
                data = .address(address)
            } else {
                data = .bytes(newValue)
            }
        }
    }

    /// The most bytes of rdata: RDLENGTH has 16 bits.
    public static let maximumDataLength = 65_535

    public init(name: Name, type: RecordType, class: RecordClass = .internet, ttl: UInt32, rdata: [UInt8]) {
        (self.name, self.type, self.class, self.ttl, data) = (name, type, `class`, ttl, .bytes([]))
        self.rdata = rdata
    }

    /// An A or AAAA record.
    public init(name: Name, address: IPAddress, ttl: UInt32) {
        (self.name, type, self.class, self.ttl) = (name, address.recordType, .internet, ttl)
        data = .address(address)
    }

    /// A TXT record of class CH with a TTL of 0, in as many strings of 255 bytes as `text` needs.
    public static func chaosText(_ text: String, name: Name) -> Record {
        let bytes = Array(text.utf8.prefix(maximumDataLength / 2))
        let starts = bytes.isEmpty ? [0] : Array(stride(from: 0, to: bytes.count, by: 255))
        let rdata = starts.flatMap { start in
            let string = bytes[start..<min(start + 255, bytes.count)]
            return [UInt8(string.count)] + string
        }
        return Record(name: name, type: .txt, class: .chaos, ttl: 0, rdata: rdata)
    }

    /// The address of an A or AAAA record whose rdata has the right length.
    public var address: IPAddress? { if case .address(let address) = data { address } else { nil } }

    /// The type of the records that an RRSIG record signs (RFC 4034 section 3.1.1).
    public var coveredType: RecordType? {
        guard type == .rrsig, rdata.count >= 2 else { return nil }
        return RecordType(rawValue: UInt16(rdata[0]) << 8 | UInt16(rdata[1]))
    }

    /// The target of a CNAME record.
    public var canonicalName: Name? { type == .cname ? try? Name(wire: rdata) : nil }

    /// The MINIMUM field of an SOA record: seconds that a negative answer may be cached (RFC 2308 section 4).
    public var soaMinimum: UInt32? {
        guard type == .soa, rdata.count >= 22 else { return nil }
        return rdata.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// A synthetic SOA record for a negative answer: owner and MNAME are `name`, MINIMUM and TTL are `ttl` seconds.
    public static func negativeSOA(for name: Name, ttl: UInt32) -> Record {
        // A mailbox below .invalid does not exist (RFC 2606); serial and timers have no effect without zone transfers.
        let mailbox: [UInt8] = [6] + Array("nobody".utf8) + [7] + Array("invalid".utf8) + [0]
        var rdata = name.wire + mailbox
        for number in [1, 3_600, 600, 86_400, ttl] { rdata.append(number, bytes: 4) }
        return Record(name: name, type: .soa, ttl: ttl, rdata: rdata)
    }
}

/// A field of rdata, as far as names and fixed lengths in it are concerned.
///
/// Compressed names are expanded only in the types of RFC 1035, those that RFC 3597 section 4 lists for receivers, KX
/// and DNAME; every other type is opaque.
enum RecordDataField {
    /// This number of bytes.
    case bytes(Int)
    /// A length byte and that number of bytes.
    case string
    case name
    /// All remaining bytes.
    case rest

    static func fields(of type: RecordType) -> [RecordDataField] {
        switch type.rawValue {
        case 1: [.bytes(4)]
        case 28: [.bytes(16)]
        case 2, 3, 4, 5, 7, 8, 9, 12, 39: [.name]
        case 6: [.name, .name, .bytes(20)]
        case 14, 17: [.name, .name]
        case 15, 18, 21, 36: [.bytes(2), .name]
        case 24: [.bytes(18), .name, .rest]
        case 26: [.bytes(2), .name, .name]
        case 30: [.name, .rest]
        case 33: [.bytes(6), .name]
        case 35: [.bytes(4), .string, .string, .string, .name]
        default: [.rest]
        }
    }

    /// Whether names in the rdata of `type` may be compressed when sent: the types of RFC 1035 only (RFC 3597 section
    /// 4).
    static func compressesNames(of type: RecordType) -> Bool {
        switch type.rawValue {
        case 2...9, 12, 14, 15: true
        default: false
        }
    }
}

/// An upstream's answer to one question: an RCODE and records, independent of the transport.
///
/// NOERROR, NXDOMAIN, or any other code of the header's four bits. The OPT record and the question are not included.
public struct Answer: Hashable, Sendable {
    public var responseCode: ResponseCode
    public var answers: [Record]
    public var authorities: [Record]
    public var additionals: [Record]

    public init(
        responseCode: ResponseCode = .noError, answers: [Record] = [], authorities: [Record] = [],
        additionals: [Record] = []
    ) {
        self.responseCode = responseCode
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
    }

    /// An answer of addresses, one record for each, owned by `name`.
    public init(name: Name, addresses: [IPAddress], ttl: UInt32) {
        self.init(answers: addresses.map { Record(name: name, address: $0, ttl: ttl) })
    }

    /// A negative answer with an SOA record whose TTL and MINIMUM are `ttl` seconds.
    public static func negative(_ responseCode: ResponseCode = .noError, name: Name, ttl: UInt32) -> Answer {
        Answer(responseCode: responseCode, authorities: [.negativeSOA(for: name, ttl: ttl)])
    }

    /// Whether it is NXDOMAIN or NODATA: there is no record of `type` at the end of the chain of CNAME records.
    public func isNegative(for type: RecordType) -> Bool {
        responseCode != .noError || !answers.contains { $0.type == type || type == .any }
    }

    /// The addresses in the answer section.
    public var addresses: [IPAddress] { answers.compactMap(\.address) }
}

/// A record's or question's type: 16 bits, known or not (RFC 1035 section 3.2.2, RFC 3597).
public struct RecordType: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static var a: RecordType { RecordType(rawValue: 1) }
    public static var ns: RecordType { RecordType(rawValue: 2) }
    public static var cname: RecordType { RecordType(rawValue: 5) }
    public static var soa: RecordType { RecordType(rawValue: 6) }
    public static var ptr: RecordType { RecordType(rawValue: 12) }
    public static var hinfo: RecordType { RecordType(rawValue: 13) }
    public static var mx: RecordType { RecordType(rawValue: 15) }
    public static var txt: RecordType { RecordType(rawValue: 16) }
    public static var aaaa: RecordType { RecordType(rawValue: 28) }
    public static var dname: RecordType { RecordType(rawValue: 39) }
    public static var opt: RecordType { RecordType(rawValue: 41) }
    public static var ds: RecordType { RecordType(rawValue: 43) }
    public static var rrsig: RecordType { RecordType(rawValue: 46) }
    public static var nsec: RecordType { RecordType(rawValue: 47) }
    public static var nsec3: RecordType { RecordType(rawValue: 50) }
    public static var svcb: RecordType { RecordType(rawValue: 64) }
    public static var https: RecordType { RecordType(rawValue: 65) }
    public static var ixfr: RecordType { RecordType(rawValue: 251) }
    public static var axfr: RecordType { RecordType(rawValue: 252) }
    public static var any: RecordType { RecordType(rawValue: 255) }

    /// Whether this is A or AAAA, the two types that HTTPDNS services answer.
    public var isAddress: Bool { rawValue == 1 || rawValue == 28 }

    /// Whether no record of this type exists in a zone: OPT, and the meta and question types 249 to 255
    /// (RFC 6895 section 3.1).
    public var isMeta: Bool { rawValue == 0 || rawValue == 41 || (249...255).contains(rawValue) }
}

extension RecordType: CustomStringConvertible {
    private static let mnemonics: [(String, UInt16)] = [
        ("A", 1), ("NS", 2), ("CNAME", 5), ("SOA", 6), ("PTR", 12), ("HINFO", 13), ("MX", 15), ("TXT", 16), ("RP", 17),
        ("AFSDB", 18), ("AAAA", 28), ("LOC", 29), ("SRV", 33), ("NAPTR", 35), ("CERT", 37), ("DNAME", 39), ("OPT", 41),
        ("DS", 43), ("SSHFP", 44), ("RRSIG", 46), ("NSEC", 47), ("DNSKEY", 48), ("NSEC3", 50), ("NSEC3PARAM", 51),
        ("TLSA", 52), ("SMIMEA", 53), ("CDS", 59), ("CDNSKEY", 60), ("OPENPGPKEY", 61), ("SVCB", 64), ("HTTPS", 65),
        ("SPF", 99), ("IXFR", 251), ("AXFR", 252), ("ANY", 255), ("URI", 256), ("CAA", 257),
    ]

    /// The mnemonic, or `TYPE` and the number (RFC 3597 section 5).
    public var description: String {
        Self.mnemonics.first { $0.1 == rawValue }?.0 ?? "TYPE\(rawValue)"
    }

    /// Reads a mnemonic in any letter case, `TYPE` with a number, or a bare number; nil for anything else.
    public init?(_ text: String) {
        let upper = text.uppercased()
        if let known = Self.mnemonics.first(where: { $0.0 == upper }) {
            self.init(rawValue: known.1)
            return
        }
        let digits = upper.hasPrefix("TYPE") ? upper.dropFirst(4) : upper[...]
        guard let number = OutsideNumber(digits: digits)?.within(0...UInt16.max) else { return nil }
        self.init(rawValue: number)
    }
}

extension IPAddress {
    /// The record type for this address: A or AAAA.
    public var recordType: RecordType {
        switch self {
        case .v4: .a
        case .v6: .aaaa
        }
    }
}

/// A record's or question's class: 16 bits (RFC 1035 section 3.2.4).
public struct RecordClass: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static var internet: RecordClass { RecordClass(rawValue: 1) }
    /// CHAOS, in which servers answer queries about themselves.
    public static var chaos: RecordClass { RecordClass(rawValue: 3) }
    /// QCLASS `ANY`, only in questions: every class.
    public static var any: RecordClass { RecordClass(rawValue: 255) }
}
