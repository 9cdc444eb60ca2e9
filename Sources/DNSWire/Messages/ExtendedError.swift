/// An extended DNS error: further information about the cause of an error or of a stale or forged answer (RFC 8914).
package struct ExtendedError: Hashable, Sendable {
    /// The info code (IANA "Extended DNS Error Codes").
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let other = Code(rawValue: 0)
        package static let staleAnswer = Code(rawValue: 3)
        package static let forgedAnswer = Code(rawValue: 4)
        package static let cachedError = Code(rawValue: 13)
        package static let prohibited = Code(rawValue: 18)
        package static let staleNXDomainAnswer = Code(rawValue: 19)
        package static let notSupported = Code(rawValue: 21)
        package static let noReachableAuthority = Code(rawValue: 22)
        package static let networkError = Code(rawValue: 23)
    }

    package var code: Code
    /// UTF-8 text for people, without a final zero; may be empty.
    package var text: String

    package init(_ code: Code, _ text: String = "") {
        self.code = code
        self.text = text
    }
}
