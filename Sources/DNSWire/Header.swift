/// The twelve bytes that begin a message (RFC 1035 section 4.1.1).
package enum Header {
    /// Bytes of a header.
    package static let length = 12
}

/// The header's second 16 bits: QR, opcode, AA, TC, RD, RA, Z, AD, CD and the low four bits of the RCODE.
@frozen
package struct HeaderFlags: OptionSet, Hashable, Sendable {
    package var rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let response = HeaderFlags(rawValue: 0x8000)
    package static let authoritative = HeaderFlags(rawValue: 0x0400)
    package static let truncated = HeaderFlags(rawValue: 0x0200)
    package static let recursionDesired = HeaderFlags(rawValue: 0x0100)
    package static let recursionAvailable = HeaderFlags(rawValue: 0x0080)
    package static let authenticData = HeaderFlags(rawValue: 0x0020)
    package static let checkingDisabled = HeaderFlags(rawValue: 0x0010)

    /// 0 (QUERY) to 15.
    @inlinable
    package var opcode: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 11) & 15 }

    /// The header's four bits of the RCODE.
    @inlinable
    package var responseCode: ResponseCode { ResponseCode(rawValue: rawValue & 15) }
}
