/// The header of a message, its first twelve bytes (RFC 1035 section 4.1.1).
public enum Header {
    /// Length of a header in bytes.
    public static var length: Int { 12 }
}

/// The header's second 16 bits: QR, opcode, AA, TC, RD, RA, Z, AD, CD and the low four bits of the RCODE.
public struct HeaderFlags: OptionSet, Hashable, Sendable {
    public var rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static var response: HeaderFlags { HeaderFlags(rawValue: 0x8000) }
    public static var authoritative: HeaderFlags { HeaderFlags(rawValue: 0x0400) }
    public static var truncated: HeaderFlags { HeaderFlags(rawValue: 0x0200) }
    public static var recursionDesired: HeaderFlags { HeaderFlags(rawValue: 0x0100) }
    public static var recursionAvailable: HeaderFlags { HeaderFlags(rawValue: 0x0080) }
    public static var checkingDisabled: HeaderFlags { HeaderFlags(rawValue: 0x0010) }

    /// 0 (QUERY) to 15.
    public var opcode: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 11) & 15 }

    /// The header's four bits of the RCODE.
    public var responseCode: ResponseCode { ResponseCode(rawValue: rawValue & 15) }
}

/// A response code: the header's four bits, or twelve with an OPT record (RFC 1035 section 4.1.1, RFC 6891 section
/// 6.1.3).
public struct ResponseCode: RawRepresentable, Hashable, Sendable {
    /// 0 to 4095.
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue & 0xfff }

    public static var noError: ResponseCode { ResponseCode(rawValue: 0) }
    public static var formatError: ResponseCode { ResponseCode(rawValue: 1) }
    public static var serverFailure: ResponseCode { ResponseCode(rawValue: 2) }
    public static var nameError: ResponseCode { ResponseCode(rawValue: 3) }
    public static var notImplemented: ResponseCode { ResponseCode(rawValue: 4) }
    public static var refused: ResponseCode { ResponseCode(rawValue: 5) }
    public static var badVersion: ResponseCode { ResponseCode(rawValue: 16) }
    public static var badCookie: ResponseCode { ResponseCode(rawValue: 23) }
}

extension ResponseCode: CustomStringConvertible {
    /// The mnemonic as `dig` prints it, or `RCODE` and the number.
    public var description: String {
        switch rawValue {
        case 0: "NOERROR"
        case 1: "FORMERR"
        case 2: "SERVFAIL"
        case 3: "NXDOMAIN"
        case 4: "NOTIMP"
        case 5: "REFUSED"
        case 16: "BADVERS"
        case 23: "BADCOOKIE"
        default: "RCODE\(rawValue)"
        }
    }
}

/// The content of an OPT record (RFC 6891 section 6.1).
public struct EDNS: Hashable, Sendable {
    /// The largest UDP payload that the sender accepts, in bytes; values under 512 mean 512.
    public var udpPayloadSize: UInt16
    /// 0 is the only version defined.
    public var version: UInt8
    /// The upper eight bits of the RCODE.
    public var extendedResponseCode: UInt8
    /// Whether the sender requests DNSSEC records (RFC 3225).
    public var dnssecOK: Bool
    public var options: [EDNSOption]

    public init(
        udpPayloadSize: UInt16 = UInt16(EDNS.defaultPayloadSize), version: UInt8 = 0, extendedResponseCode: UInt8 = 0,
        dnssecOK: Bool = false, options: [EDNSOption] = []
    ) {
        self.udpPayloadSize = udpPayloadSize
        self.version = version
        self.extendedResponseCode = extendedResponseCode
        self.dnssecOK = dnssecOK
        self.options = options
    }

    /// The UDP payload size that we advertise and never exceed: no fragments on any common path (RFC 9715 section 3).
    public static var defaultPayloadSize: Int { 1_232 }
    /// The UDP payload size for a client without EDNS (RFC 1035 section 4.2.1).
    public static var minimumPayloadSize: Int { 512 }
    /// Length in bytes of an OPT record without options.
    public static var recordLength: Int { 11 }
}

/// One option of an OPT record.
public struct EDNSOption: Hashable, Sendable {
    /// The option code (IANA "DNS EDNS0 Option Codes").
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt16

        public init(rawValue: UInt16) { self.rawValue = rawValue }

        public static let clientSubnet = Code(rawValue: 8)
        public static let cookie = Code(rawValue: 10)
        public static let tcpKeepalive = Code(rawValue: 11)
        public static let padding = Code(rawValue: 12)
        public static let extendedError = Code(rawValue: 15)
    }

    public var code: Code
    public var data: [UInt8]

    public init(code: Code, data: [UInt8]) {
        self.code = code
        self.data = data
    }
}

/// An extended DNS error: further information about the cause of an error or of a stale or forged answer (RFC 8914).
public struct ExtendedError: Hashable, Sendable {
    /// The info code (IANA "Extended DNS Error Codes").
    public enum Code: UInt16, Sendable {
        case other = 0
        case staleAnswer = 3
        case forgedAnswer = 4
        case cachedError = 13
        case prohibited = 18
        case staleNXDomainAnswer = 19
        case notSupported = 21
        case noReachableAuthority = 22
        case networkError = 23
    }

    public var code: Code
    /// UTF-8 text for people, without a final zero; may be empty.
    public var text: String

    public init(_ code: Code, _ text: String = "") {
        self.code = code
        self.text = text
    }
}
