/// The header of a message, its first twelve bytes (RFC 1035 section 4.1.1).
@frozen
@usableFromInline
package enum Header {
    /// Length of a header in bytes.
    @inlinable
    package static var length: Int { 12 }
}

/// The header's second 16 bits: QR, opcode, AA, TC, RD, RA, Z, AD, CD and the low four bits of the RCODE.
@frozen
@usableFromInline
package struct HeaderFlags: OptionSet, Hashable, Sendable {
    @usableFromInline package var rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    @inlinable
    package static var response: HeaderFlags { HeaderFlags(rawValue: 0x8000) }
    @inlinable
    package static var authoritative: HeaderFlags { HeaderFlags(rawValue: 0x0400) }
    @inlinable
    package static var truncated: HeaderFlags { HeaderFlags(rawValue: 0x0200) }
    @inlinable
    package static var recursionDesired: HeaderFlags { HeaderFlags(rawValue: 0x0100) }
    @inlinable
    package static var recursionAvailable: HeaderFlags { HeaderFlags(rawValue: 0x0080) }
    @inlinable
    package static var checkingDisabled: HeaderFlags { HeaderFlags(rawValue: 0x0010) }

    /// 0 (QUERY) to 15.
    @inlinable
    package var opcode: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 11) & 15 }

    /// The header's four bits of the RCODE.
    @inlinable
    package var responseCode: ResponseCode { ResponseCode(rawValue: rawValue & 15) }
}

/// A response code: the header's four bits, or twelve with an OPT record (RFC 1035 section 4.1.1, RFC 6891 section
/// 6.1.3).
@frozen
@usableFromInline
package struct ResponseCode: RawRepresentable, Hashable, Sendable {
    /// 0 to 4095.
    @usableFromInline package let rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue & 0xfff }

    @inlinable
    package static var noError: ResponseCode { ResponseCode(rawValue: 0) }
    @inlinable
    package static var formatError: ResponseCode { ResponseCode(rawValue: 1) }
    @inlinable
    package static var serverFailure: ResponseCode { ResponseCode(rawValue: 2) }
    @inlinable
    package static var nameError: ResponseCode { ResponseCode(rawValue: 3) }
    @inlinable
    package static var notImplemented: ResponseCode { ResponseCode(rawValue: 4) }
    @inlinable
    package static var refused: ResponseCode { ResponseCode(rawValue: 5) }
    @inlinable
    package static var badVersion: ResponseCode { ResponseCode(rawValue: 16) }
    @inlinable
    package static var badCookie: ResponseCode { ResponseCode(rawValue: 23) }
}

extension ResponseCode: CustomStringConvertible {
    /// The mnemonic as `dig` prints it, or `RCODE` and the number.
    @usableFromInline package var description: String {
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
