import TestSupport

/// The zones of a small Internet, signed from the root down; the signatures hold for weeks.
///
/// `signed.example` has NSEC records, `hashed.example` NSEC3 records. In both `forged` has another address than was
/// signed; `bare.signed.example` has lost its signature. `plain.example` is not signed, as the root's zones say, and
/// neither is `broken.example`, though they say that it is. Networks have zones of their own, which are delegated
/// without signatures: `corp.example`, `fritz.box`, `home.arpa` and `168.192.in-addr.arpa`.
package final class SignedZones: Sendable {
    /// What resolvers get of a zone.
    private enum Signing {
        case none
        /// With these options of `ldns-signzone`.
        case signed([String] = [])
        /// The parent has its DS record, and the zone no signature.
        case stripped
    }

    /// One zone; `parent` has its delegation.
    private struct Zone {
        var name: String
        var parent: String?
        var signing: Signing
        var records = ""
    }

    /// Those that are delegated to come before those that delegate.
    private static let zones = [
        Zone(
            name: "signed.example", parent: "example", signing: .signed(),
            records: """
                www A 192.0.2.1
                www AAAA 2001:db8::1
                www HTTPS 1 . alpn=h2 ipv4hint=192.0.2.1
                *.wild A 192.0.2.3
                long TXT \(Array(repeating: "\(String(repeating: "a", count: 250))", count: 8).joined(separator: " "))
                inward CNAME www.hashed.example.
                outward CNAME www.plain.example.
                forged A 192.0.2.9
                bare A 192.0.2.10
                """),
        Zone(
            name: "hashed.example", parent: "example", signing: .signed(["-n"]),
            records: "www A 192.0.2.2\nforged A 192.0.2.9"),
        Zone(name: "plain.example", parent: "example", signing: .none, records: "www A 192.0.2.4"),
        Zone(name: "broken.example", parent: "example", signing: .stripped, records: "www A 192.0.2.5"),
        Zone(name: "example", parent: ".", signing: .signed(), records: "corp NS ns\nns A 192.0.2.53"),
        Zone(name: "box", parent: ".", signing: .signed(), records: "fritz NS ns.example."),
        Zone(name: "192.in-addr.arpa", parent: "arpa", signing: .signed(), records: "168 NS ns.example."),
        Zone(name: "arpa", parent: ".", signing: .signed(), records: "home NS ns.example."),
        Zone(name: ".", parent: nil, signing: .signed()),
    ]

    /// The root's DS record, for validators.
    package let trustAnchor: String
    /// Clauses for a configuration of Unbound, by which it resolves names in these zones alone.
    let clauses: String
    private let directory: TemporaryDirectory

    /// Signs them.
    package init() throws {
        directory = try TemporaryDirectory()
        var delegations: [String: String] = [:]
        var clauses = ""
        var trustAnchor = ""
        for zone in Self.zones {
            let (file, signer) = try Self.write(zone, delegations[zone.name] ?? "", in: directory)
            clauses += """

                auth-zone:
                    name: "\(zone.name)"
                    zonefile: "\(file)"
                    for-downstream: no
                    for-upstream: yes
                    fallback-enabled: no
                """
            if let parent = zone.parent {
                delegations[parent, default: ""] += "\(zone.name). NS ns.example.\n\(signer)\n"
            } else {
                trustAnchor = signer
            }
        }
        (self.clauses, self.trustAnchor) = (clauses, trustAnchor)
    }

    /// Writes and signs one zone.
    ///
    /// - Returns: the path of what resolvers get, and the DS record; empty without signatures.
    private static func write(
        _ zone: Zone, _ delegations: String, in directory: TemporaryDirectory
    ) throws -> (file: String, signer: String) {
        let name = zone.name == "." ? "root" : zone.name
        let plain = try directory.write(
            """
            $ORIGIN \(zone.name == "." ? "" : zone.name).
            $TTL 60
            @ SOA ns.example. admin.example. 1 7200 3600 1209600 60
            @ NS ns.example.
            \(zone.records)
            \(delegations)

            """, to: name)
        let (options, isStripped): ([String], Bool)
        switch zone.signing {
        case .none: return (plain, "")
        case .signed(let words): (options, isStripped) = (words, false)
        case .stripped: (options, isStripped) = ([], true)
        }
        let key = try ChildProcess.succeed(
            ["ldns-keygen", "-a", "ECDSAP256SHA256", "-k", zone.name], directory: directory.path
        ).prefix { $0 != "\n" }
        let signed = name + ".signed"
        try ChildProcess.succeed(
            ["ldns-signzone"] + options + ["-f", signed, name, String(key)], directory: directory.path)
        let lines = directory.read(signed).split(separator: "\n")
            .filter { !($0.hasPrefix("bare.") && $0.contains("RRSIG\tA ")) }
            .map { $0.replacing("192.0.2.9", with: "192.0.2.66") }
        let file = try directory.write(lines.joined(separator: "\n") + "\n", to: signed)
        let signer = directory.read("\(key).ds").prefix { $0 != "\n" }.replacing("\t", with: " ")
        return (isStripped ? plain : file, String(signer))
    }
}
