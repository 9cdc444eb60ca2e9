package import DNSResolver
package import DNSWire

/// What becomes of HTTPS and SVCB questions for protected names.
package enum HTTPSRecords: String, Hashable, Sendable, CaseIterable {
    /// NODATA, unless a provider answers them with authentication.
    case protect
    /// Passed on like any other type.
    case forward
}

/// What becomes of addresses of local networks in answers for protected names.
package enum PrivateAddresses: String, Hashable, Sendable, CaseIterable {
    case keep, drop
}

/// Whether IPv6 addresses are made of the IPv4 addresses of protected names (DNS64, RFC 6147), and by which prefix.
package enum DNS64: Hashable, Sendable, CustomStringConvertible {
    /// Where this machine has no IPv4, by the prefix that LocalDNS tells.
    case auto
    case off
    case prefix(NAT64Prefix)

    /// As the file has it.
    package var description: String {
        switch self {
        case .auto: "auto"
        case .off: "off"
        case .prefix(let prefix): prefix.description
        }
    }
}

extension Configuration {
    /// `[answers]`.
    package struct AnswerSettings: SettingsTable {
        /// Which address families answers hold.
        @Setting("prefer", .choice()) package var prefer = FamilyPreference.both
        /// Whether the addresses of an answer go out in turn.
        @Setting("rotate", .boolean) package var rotate = true
        @Setting("https_records", .choice(), shapesAnswers: true) package var httpsRecords = HTTPSRecords.protect
        /// Networks whose addresses are dropped from answers for protected names.
        @Setting("bogus", .list(of: .prefix, "list of networks"), shapesAnswers: true)
        package var bogus: [AddressPrefix] = []
        @Setting("private_addresses", .choice(), shapesAnswers: true)
        package var privateAddresses = PrivateAddresses.keep
        /// Suffixes of names that may have private addresses all the same.
        @Setting("private_names", .list(of: .suffix, "list of suffixes"), shapesAnswers: true)
        package var privateNames: [Name] = []
        @Setting("dns64", .dns64, shapesAnswers: true) package var dns64 = DNS64.auto
        /// Whether the name that browsers look up before they ask a resolver of their own does not exist.
        @Setting("hide_canary", .boolean) package var hideCanary = true

        package init() {}

        /// The identity of all that decides what answers may hold.
        package var answerIdentity: String { identity }
    }
}

extension Kind where Value == DNS64 {
    static var dns64: Kind {
        .text(
            "NAT64 prefix", range: "auto, off, or an IPv6 network of 32, 40, 48, 56, 64 or 96 bits",
            expected: "\"auto\", \"off\" or a prefix in quotes such as \"64:ff9b::/96\"",
            parse: { text throws(ValueProblem) in
                if text == "auto" { return .auto }
                if text == "off" { return .off }
                if let prefix = NAT64Prefix(text) { return .prefix(prefix) }
                guard AddressPrefix(text) != nil else {
                    throw ValueProblem("is not \"auto\", \"off\" or a prefix such as \"64:ff9b::/96\"")
                }
                throw ValueProblem(
                    "is no prefix of a NAT64: it has 32, 40, 48, 56, 64 or 96 bits, bits 64 to 71 are zero, and it is in 2000::/3, fc00::/7 or 64:ff9b::/32"
                )
            })
    }
}
