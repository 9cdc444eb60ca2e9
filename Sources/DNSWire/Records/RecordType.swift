/// A record's or question's type: 16 bits, known or not (RFC 1035 section 3.2.2, RFC 3597).
@frozen
@usableFromInline
package struct RecordType: RawRepresentable, Hashable, Sendable {
    @usableFromInline package let rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    @inlinable
    package static var a: RecordType { RecordType(rawValue: 1) }
    package static var ns: RecordType { RecordType(rawValue: 2) }
    package static var cname: RecordType { RecordType(rawValue: 5) }
    package static var soa: RecordType { RecordType(rawValue: 6) }
    package static var ptr: RecordType { RecordType(rawValue: 12) }
    package static var hinfo: RecordType { RecordType(rawValue: 13) }
    package static var mx: RecordType { RecordType(rawValue: 15) }
    package static var txt: RecordType { RecordType(rawValue: 16) }
    @inlinable
    package static var aaaa: RecordType { RecordType(rawValue: 28) }
    package static var dname: RecordType { RecordType(rawValue: 39) }
    @inlinable
    package static var opt: RecordType { RecordType(rawValue: 41) }
    package static var ds: RecordType { RecordType(rawValue: 43) }
    package static var rrsig: RecordType { RecordType(rawValue: 46) }
    package static var nsec: RecordType { RecordType(rawValue: 47) }
    package static var nsec3: RecordType { RecordType(rawValue: 50) }
    package static var svcb: RecordType { RecordType(rawValue: 64) }
    package static var https: RecordType { RecordType(rawValue: 65) }
    package static var ixfr: RecordType { RecordType(rawValue: 251) }
    package static var axfr: RecordType { RecordType(rawValue: 252) }
    package static var any: RecordType { RecordType(rawValue: 255) }

    /// Whether this is A or AAAA, the two types that HTTPDNS services answer.
    @inlinable
    package var isAddress: Bool { rawValue == 1 || rawValue == 28 }

    /// Whether no record of this type exists in a zone: OPT, and the meta and question types 249 to 255
    /// (RFC 6895 section 3.1).
    @inlinable
    package var isMeta: Bool { rawValue == 0 || rawValue == 41 || (249...255).contains(rawValue) }
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
    @usableFromInline package var description: String {
        Self.mnemonics.first { $0.1 == rawValue }?.0 ?? "TYPE\(rawValue)"
    }

    /// Reads a mnemonic in any letter case, `TYPE` with a number, or a bare number; nil for anything else.
    package init?(_ text: String) {
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

/// A record's or question's class: 16 bits (RFC 1035 section 3.2.4).
@frozen
@usableFromInline
package struct RecordClass: RawRepresentable, Hashable, Sendable {
    @usableFromInline package let rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    @inlinable
    package static var internet: RecordClass { RecordClass(rawValue: 1) }
    /// CHAOS, in which servers answer queries about themselves.
    @inlinable
    package static var chaos: RecordClass { RecordClass(rawValue: 3) }
    /// QCLASS `ANY`, only in questions: every class.
    @inlinable
    package static var any: RecordClass { RecordClass(rawValue: 255) }
}
