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
