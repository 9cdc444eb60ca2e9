package import HTTPDNS

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
