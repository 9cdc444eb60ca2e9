/// A response code: the header's four bits, or twelve with an OPT record (RFC 1035 section 4.1.1, RFC 6891 section
/// 6.1.3).
@frozen
package struct ResponseCode: RawRepresentable, Hashable, Sendable {
    /// 0 to 4095.
    package let rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue & 0xfff }

    package static let noError = ResponseCode(rawValue: 0)
    package static let formatError = ResponseCode(rawValue: 1)
    package static let serverFailure = ResponseCode(rawValue: 2)
    package static let nameError = ResponseCode(rawValue: 3)
    package static let notImplemented = ResponseCode(rawValue: 4)
    package static let refused = ResponseCode(rawValue: 5)
    package static let badVersion = ResponseCode(rawValue: 16)
}

extension ResponseCode: CustomStringConvertible {
    /// The mnemonic as `dig` prints it, or `RCODE` and the number.
    package var description: String {
        switch rawValue {
        case 0: "NOERROR"
        case 1: "FORMERR"
        case 2: "SERVFAIL"
        case 3: "NXDOMAIN"
        case 4: "NOTIMP"
        case 5: "REFUSED"
        case 16: "BADVERS"
        default: "RCODE\(rawValue)"
        }
    }
}
