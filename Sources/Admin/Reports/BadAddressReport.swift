import HTTPDNS

/// The addresses reported as bad, ordered by weight, the highest first.
package struct BadAddressReport: JSONRecord {
    package var addresses: [BadAddress] = []
    /// Cached answers removed by the change.
    package var removed = 0

    package init() {}

    package init(addresses: [BadAddress], removed: Int = 0) {
        self.addresses = addresses
        self.removed = removed
    }

    package static let members: [JSONMember<Self>] = [
        .init("addresses", records: \.addresses),
        .init("removed", \.removed),
    ]

    /// An address reported as bad.
    package struct BadAddress: JSONRecord {
        package var address = ""
        /// In percent; 100 is one report just made.
        package var weight = 0
        /// Seconds until the report expires, if the address is not reported again.
        package var fades = 0

        package init() {}

        package init(address: String, weight: Int, fades: Int) {
            self.address = address
            self.weight = weight
            self.fades = fades
        }

        package static let members: [JSONMember<Self>] = [
            .init("address", \.address),
            .init("weight_percent", \.weight),
            .init("fades_seconds", \.fades),
        ]
    }
}

/// An address that LocalDNS gave for a protected name, and whose certificate is not valid for the name.
package struct ForgedAddress: JSONRecord {
    package var name = ""
    package var address = ""
    /// The server of LocalDNS that gave it last; empty when that is not known.
    package var server = ""
    package var port = 0
    /// Why the certificate is refused.
    package var reason = ""
    /// Subject and issuer of the certificate; empty if they could not be parsed.
    package var subject = ""
    package var issuer = ""
    /// SHA-256 of the certificate, hexadecimal.
    package var fingerprint = ""
    /// When it was seen first and last, ISO 8601 in UTC.
    package var first = ""
    package var last = ""
    /// The number of failed checks.
    package var count = 0

    package init() {}

    package static let members: [JSONMember<Self>] = [
        .init("name", \.name),
        .init("address", \.address),
        .init("server", \.server),
        .init("port", \.port),
        .init("reason", \.reason),
        .init("subject", \.subject),
        .init("issuer", \.issuer),
        .init("sha256", \.fingerprint),
        .init("first", \.first),
        .init("last", \.last),
        .init("count", \.count),
    ]
}

extension BadAddressReport {
    /// A line for each address.
    package var text: String {
        guard !addresses.isEmpty else { return "" }
        return PlainText.lines(
            [["ADDRESS", "WEIGHT", "FADES IN"]]
                + addresses.map { [$0.address, "\($0.weight)%", PlainText.duration($0.fades)] })
    }
}

extension ForgedAddress {
    /// One line: the name, the address, and the certificate that it showed.
    package var text: String {
        var text = "\(name) at \(address) port \(port): \(reason)"
        if !subject.isEmpty { text += "; subject \(subject)" }
        if !issuer.isEmpty { text += ", issuer \(issuer)" }
        if !fingerprint.isEmpty { text += ", SHA-256 \(fingerprint)" }
        return VisibleText(text).description + "; seen \(counted(count, "time")), \(first) to \(last)"
    }
}
