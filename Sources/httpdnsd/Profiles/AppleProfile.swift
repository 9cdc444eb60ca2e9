import DNSWire
import HTTPDNS

extension Profile {
    /// A configuration profile for iOS 14, macOS 11 and later, unsigned: a property list that sets the DNS server
    /// (support.apple.com/guide/deployment, "DNS Settings"). The same server gets the same identifiers, so that a newer
    /// profile replaces the one before.
    func apple(_ crypto: any Crypto) throws(CommandFailure) -> ProfileText {
        guard hasUsualTLS || https != nil else { throw Self.needsTLS }
        let identifier = "httpdnsd.\(name)"
        guard let inner = Self.uuid(of: "\(identifier) settings", crypto),
            let outer = Self.uuid(of: "\(identifier) profile", crypto)
        else { throw CommandFailure("no SHA-256 in this system's libcrypto, and identifiers are made with it") }
        let name = Self.escaped(name)
        let document = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
              <key>PayloadContent</key>
              <array>
                <dict>
                  <key>DNSSettings</key>
                  <dict>
                    \(settings.joined(separator: "\n        "))
                  </dict>
                  <key>OnDemandRules</key>
                  <array>
                    \(rules.joined(separator: "\n        "))
                  </array>
                  <key>PayloadDisplayName</key>
                  <string>DNS: \(name)</string>
                  <key>PayloadIdentifier</key>
                  <string>httpdnsd.\(name).settings</string>
                  <key>PayloadType</key>
                  <string>com.apple.dnsSettings.managed</string>
                  <key>PayloadUUID</key>
                  <string>\(inner)</string>
                  <key>PayloadVersion</key>
                  <integer>1</integer>
                  <key>ProhibitDisablement</key>
                  <false/>
                </dict>
              </array>
              <key>PayloadDescription</key>
              <string>Names are resolved by \(name), encrypted.</string>
              <key>PayloadDisplayName</key>
              <string>DNS: \(name)</string>
              <key>PayloadIdentifier</key>
              <string>httpdnsd.\(name)</string>
              <key>PayloadRemovalDisallowed</key>
              <false/>
              <key>PayloadType</key>
              <string>Configuration</string>
              <key>PayloadUUID</key>
              <string>\(outer)</string>
              <key>PayloadVersion</key>
              <integer>1</integer>
            </dict>
            </plist>
            """
        return (
            document,
            """
            Save this as httpdnsd.mobileconfig and open it on the device, from a mail or a web page; then Settings, General, \
            VPN & Device Management installs it.
            """
        )
    }

    /// Over TLS where the device can, for which the name is enough. Lines.
    private var settings: [String] {
        var lines = ["<key>DNSProtocol</key>"]
        if let https, !hasUsualTLS {
            lines += ["<string>HTTPS</string>", "<key>ServerURL</key>", "<string>\(Self.escaped(https))</string>"]
        } else {
            lines += ["<string>TLS</string>", "<key>ServerName</key>", "<string>\(Self.escaped(name))</string>"]
        }
        guard !addresses.isEmpty else { return lines }
        return lines + ["<key>ServerAddresses</key>", "<array>"] + addresses.map { "  <string>\($0)</string>" }
            + ["</array>"]
    }

    /// The first that matches decides. Lines.
    private var rules: [String] {
        let connect = ["<dict>", "  <key>Action</key>", "  <string>Connect</string>", "</dict>"]
        guard !trustedSSIDs.isEmpty else { return connect }
        return [
            "<dict>", "  <key>Action</key>", "  <string>Disconnect</string>", "  <key>InterfaceTypeMatch</key>",
            "  <string>WiFi</string>", "  <key>SSIDMatch</key>", "  <array>",
        ] + trustedSSIDs.map { "    <string>\(Self.escaped($0))</string>" } + ["  </array>", "</dict>"] + connect
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
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
