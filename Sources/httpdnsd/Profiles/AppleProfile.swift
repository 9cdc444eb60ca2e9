import DNSWire
import HTTPDNS

extension Profile {
    /// The payload that sets the DNS server of iOS and macOS (support.apple.com/guide/deployment, "DNS Settings").
    private static let payload = "com.apple.dnsSettings.managed"

    /// A configuration profile for iOS 14, macOS 11 and later, unsigned. The same server gets the same identifiers, so
    /// that a newer profile replaces the one before.
    func apple(_ crypto: any Crypto) throws(ProfileProblem) -> ProfileText {
        guard hasUsualTLS || https != nil else { throw .needsTLS }
        let identifier = "httpdnsd.\(name)"
        guard let inner = Self.uuid(of: "\(identifier) settings", crypto),
            let outer = Self.uuid(of: "\(identifier) profile", crypto)
        else { throw ProfileProblem(text: "no SHA-256 in this system's libcrypto, and identifiers are made with it") }
        let settings = PropertyList.dictionary([
            ("DNSSettings", settings), ("OnDemandRules", .array(rules)),
            ("PayloadDisplayName", .string("DNS: \(name)")),
            ("PayloadIdentifier", .string("\(identifier).settings")), ("PayloadType", .string(Self.payload)),
            ("PayloadUUID", .string(inner)), ("PayloadVersion", .integer(1)), ("ProhibitDisablement", .boolean(false)),
        ])
        let profile = PropertyList.dictionary([
            ("PayloadContent", .array([settings])),
            ("PayloadDescription", .string("Names are resolved by \(name), encrypted.")),
            ("PayloadDisplayName", .string("DNS: \(name)")), ("PayloadIdentifier", .string(identifier)),
            ("PayloadRemovalDisallowed", .boolean(false)), ("PayloadType", .string("Configuration")),
            ("PayloadUUID", .string(outer)), ("PayloadVersion", .integer(1)),
        ])
        return ProfileText(
            content: profile.document,
            advice: """
                Save this as httpdnsd.mobileconfig and open it on the device, from a mail or a web page; then Settings, General, \
                VPN & Device Management installs it.
                """)
    }

    /// Over TLS where the device can, for which the name is enough.
    private var settings: PropertyList {
        var entries: [(String, PropertyList)] = []
        if let https, !hasUsualTLS {
            entries += [("DNSProtocol", .string("HTTPS")), ("ServerURL", .string(https))]
        } else {
            entries += [("DNSProtocol", .string("TLS")), ("ServerName", .string(name))]
        }
        if !addresses.isEmpty { entries.append(("ServerAddresses", .array(addresses.map { .string($0.description) }))) }
        return .dictionary(entries)
    }

    /// The first rule that matches decides.
    private var rules: [PropertyList] {
        var rules: [PropertyList] = []
        if !trustedSSIDs.isEmpty {
            rules.append(
                .dictionary([
                    ("Action", .string("Disconnect")), ("InterfaceTypeMatch", .string("WiFi")),
                    ("SSIDMatch", .array(trustedSSIDs.map { .string($0) })),
                ]))
        }
        return rules + [.dictionary([("Action", .string("Connect"))])]
    }

    /// A UUID of version 8 (RFC 9562 section 5.8): the first bits of a digest.
    private static func uuid(of text: String, _ crypto: any Crypto) -> String? {
        guard var bytes = crypto.sha256(Array(text.utf8)).map({ Array($0.prefix(16)) }), bytes.count == 16 else {
            return nil
        }
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        let parts = [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
        return parts.map { TextEncoding.hexadecimal($0).uppercased() }.joined(separator: "-")
    }
}

/// A value of a property list, written as XML.
indirect enum PropertyList {
    case string(String)
    case integer(Int)
    case boolean(Bool)
    case array([PropertyList])
    case dictionary([(String, PropertyList)])

    /// The whole document.
    var document: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        \(lines.joined(separator: "\n"))
        </plist>
        """
    }

    private var lines: [String] {
        switch self {
        case .string(let text): ["<string>\(Self.escaped(text))</string>"]
        case .integer(let number): ["<integer>\(number)</integer>"]
        case .boolean(let value): [value ? "<true/>" : "<false/>"]
        case .array(let values): ["<array>"] + values.flatMap { $0.lines.map { "  " + $0 } } + ["</array>"]
        case .dictionary(let entries):
            ["<dict>"] + entries.flatMap { key, value in ["  <key>\(key)</key>"] + value.lines.map { "  " + $0 } }
                + ["</dict>"]
        }
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
    }
}
