import Configuration
import DNSWire
import HTTPDNS

/// How clients reach a server encrypted: what the profiles of all systems are made from.
struct Profile: Equatable {
    /// The port of systems in which no other one can be set.
    static let usualTLSPort: UInt16 = 853
    private static let usualHTTPSPort: UInt16 = 443

    /// A name of the certificate.
    var name: String
    /// The port of DNS over TLS; nil: there is none.
    var tls: UInt16?
    /// The URL of DNS over HTTPS, without a query; nil: there is none.
    var https: String?
    /// The addresses at which clients reach it, as far as they are known.
    var addresses: [IPAddress] = []
    /// Wireless networks in which it is not used.
    var trustedSSIDs: [String] = []

    /// What a configuration serves; nil without a name, and without an encrypted listener.
    init?(_ listen: Configuration.Listen, name: String? = nil) {
        guard let name = name ?? listen.name?.description, !(listen.tls + listen.https).isEmpty else { return nil }
        self.name = name
        tls = listen.tls.first?.port
        if let port = listen.https.first?.port {
            https = "https://\(name)\(port == Self.usualHTTPSPort ? "" : ":\(port)")\(listen.httpsPath)"
        }
        addresses = listen.advertisedAddresses
    }

    init(name: String, tls: UInt16? = nil, https: String? = nil, addresses: [IPAddress] = []) {
        (self.name, self.tls, self.https, self.addresses) = (name, tls, https, addresses)
    }

    /// Whether clients that know only the name reach it over TLS.
    var hasUsualTLS: Bool { tls == Self.usualTLSPort }

    /// The URL as a template (RFC 6570), which RFC 8484 section 4.1 wants.
    var template: String? { https.map { "\($0){?dns}" } }
}

/// The systems and programs for which there are profiles.
enum ProfileSystem: String, CaseIterable {
    case ios, android, windows, firefox, chrome, linux
}

/// A profile as it is given out.
struct ProfileText: Equatable {
    /// A file, or the value to be entered.
    var content: String
    /// What to do with it.
    var advice: String
}

/// Why a server cannot be used by a system.
struct ProfileProblem: Error, Equatable {
    var text: String

    static let needsTLS = ProfileProblem(
        text:
            "it knows DNS over TLS on port \(Profile.usualTLSPort) alone: listen.tls must have an address with that port"
    )
    static let needsHTTPS = ProfileProblem(
        text: "it knows DNS over HTTPS alone: listen.https must have an address, or give --https URL")
}

extension Profile {
    /// The profile for a system.
    func text(for system: ProfileSystem, crypto: any Crypto) throws(ProfileProblem) -> ProfileText {
        switch system {
        case .ios: try apple(crypto)
        case .android: try android
        case .windows: try windows
        case .firefox: try firefox
        case .chrome: try chrome
        case .linux: try linux
        }
    }

    private var android: ProfileText {
        get throws(ProfileProblem) {
            guard hasUsualTLS else { throw .needsTLS }
            return ProfileText(
                content: name,
                advice: "Settings, Network & internet, Private DNS, Private DNS provider hostname: enter this name.")
        }
    }

    private var windows: ProfileText {
        get throws(ProfileProblem) {
            guard let template else { throw .needsHTTPS }
            guard !addresses.isEmpty else {
                throw ProfileProblem(text: "it wants the server's address: write listen.advertise, or give --address")
            }
            let lines = addresses.map {
                "Add-DnsClientDohServerAddress -ServerAddress '\($0)' -DohTemplate '\(template)' -AllowFallbackToUdp $False"
                    + " -AutoUpgrade $True"
            }
            return ProfileText(
                content: lines.joined(separator: "\n"),
                advice: """
                    Run this in PowerShell as administrator (Windows 11, Server 2022), then make the addresses the DNS servers \
                    of the network adapter.
                    """)
        }
    }

    private var firefox: ProfileText {
        get throws(ProfileProblem) {
            guard let https else { throw .needsHTTPS }
            let content = JSONWriter.object { writer in
                writer.member(
                    "policies",
                    object: { writer in
                        writer.member(
                            "DNSOverHTTPS",
                            object: { writer in
                                writer.member("Enabled", true)
                                writer.member("ProviderURL", https)
                                writer.member("Fallback", false)
                                writer.member("Locked", false)
                            })
                    })
            }
            return ProfileText(
                content: content,
                advice: """
                    Save this as policies.json in the folder distribution of Firefox, on Linux in /etc/firefox/policies; or \
                    enter the URL in Settings, Privacy & Security, DNS over HTTPS, Max Protection, Custom.
                    """)
        }
    }

    private var chrome: ProfileText {
        get throws(ProfileProblem) {
            guard let template else { throw .needsHTTPS }
            let content = JSONWriter.object { writer in
                writer.member("DnsOverHttpsMode", "secure")
                writer.member("DnsOverHttpsTemplates", template)
            }
            return ProfileText(
                content: content,
                advice: """
                    Save this in /etc/opt/chrome/policies/managed (Chromium: /etc/chromium/policies/managed), or set both \
                    policies; or enter the template in Settings, Privacy and security, Security, Use secure DNS.
                    """)
        }
    }

    private var linux: ProfileText {
        get throws(ProfileProblem) {
            guard let tls else {
                throw ProfileProblem(text: "systemd-resolved knows DNS over TLS alone: listen.tls must have an address")
            }
            guard !addresses.isEmpty else {
                throw ProfileProblem(text: "it wants the server's address: write listen.advertise, or give --address")
            }
            let port = hasUsualTLS ? "" : ":\(tls)"
            let servers = addresses.map { address in
                (address.recordType == .aaaa && !port.isEmpty ? "[\(address)]" : "\(address)") + port + "#\(name)"
            }
            return ProfileText(
                content: """
                    [Resolve]
                    DNS=\(servers.joined(separator: " "))
                    DNSOverTLS=yes
                    Domains=~.
                    """,
                advice:
                    "Save this as /etc/systemd/resolved.conf.d/httpdnsd.conf and run: systemctl restart systemd-resolved"
            )
        }
    }
}
