package import HTTPDNS

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

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "addresses": addresses = try reader.records()
        case "removed": removed = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("addresses", records: addresses)
        writer.member("removed", removed)
    }

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

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "address": address = try reader.string()
            case "weight_percent": weight = try reader.int()
            case "fades_seconds": fades = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("address", address)
            writer.member("weight_percent", weight)
            writer.member("fades_seconds", fades)
        }
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

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "name": name = try reader.string()
        case "address": address = try reader.string()
        case "server": server = try reader.string()
        case "port": port = try reader.int()
        case "reason": reason = try reader.string()
        case "subject": subject = try reader.string()
        case "issuer": issuer = try reader.string()
        case "sha256": fingerprint = try reader.string()
        case "first": first = try reader.string()
        case "last": last = try reader.string()
        case "count": count = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("address", address)
        writer.member("server", server)
        writer.member("port", port)
        writer.member("reason", reason)
        writer.member("subject", subject)
        writer.member("issuer", issuer)
        writer.member("sha256", fingerprint)
        writer.member("first", first)
        writer.member("last", last)
        writer.member("count", count)
    }
}
