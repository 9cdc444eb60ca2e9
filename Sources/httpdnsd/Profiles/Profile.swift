import ArgumentParser
import Configuration
import DNSWire
import HTTPDNS
import Platform
import Upstreams

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

    /// Whether clients that know only the name reach it over TLS.
    var hasUsualTLS: Bool { tls == Self.usualTLSPort }

    /// The URL as a template (RFC 6570), which RFC 8484 section 4.1 wants.
    var template: String? { https.map { "\($0){?dns}" } }
}

extension Profile {
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
}

/// The systems and programs for which there are profiles.
enum ProfileSystem: String, CaseIterable, ExpressibleByArgument {
    case ios, android, windows, firefox, chrome, linux
}

/// A profile as it is given out: a file, or the value to be entered, and what to do with it.
typealias ProfileText = (content: String, advice: String)

extension Profile {
    /// Why a server cannot be used by a system.
    static let needsTLS = CommandFailure(
        "it knows DNS over TLS on port \(usualTLSPort) alone: listen.tls must have an address with that port")
    private static let needsHTTPS = CommandFailure(
        "it knows DNS over HTTPS alone: listen.https must have an address, or give --https URL")
    private static let needsAddress = CommandFailure(
        "it wants the server's address: write listen.advertise, or give --address")

    /// The profile for a system.
    func text(for system: ProfileSystem, crypto: any Crypto) throws(CommandFailure) -> ProfileText {
        switch system {
        case .ios: return try apple(crypto)
        case .android:
            guard hasUsualTLS else { throw Self.needsTLS }
            return (
                name, "Settings, Network & internet, Private DNS, Private DNS provider hostname: enter this name."
            )
        case .windows:
            guard let template else { throw Self.needsHTTPS }
            guard !addresses.isEmpty else { throw Self.needsAddress }
            // A quotation mark in the path of the configuration would end the string.
            let quoted = template.replacing("'", with: "''")
            let lines = addresses.map {
                "Add-DnsClientDohServerAddress -ServerAddress '\($0)' -DohTemplate '\(quoted)' -AllowFallbackToUdp $False"
                    + " -AutoUpgrade $True"
            }
            return (
                lines.joined(separator: "\n"),
                """
                Run this in PowerShell as administrator (Windows 11, Server 2022), then make the addresses the DNS servers \
                of the network adapter.
                """
            )
        case .firefox:
            guard let https else { throw Self.needsHTTPS }
            let settings = JSONWriter.object { writer in
                writer.member("Enabled", true)
                writer.member("ProviderURL", https)
                writer.member("Fallback", false)
                writer.member("Locked", false)
            }
            return (
                "{\"policies\":{\"DNSOverHTTPS\":\(settings)}}",
                """
                Save this as policies.json in the folder distribution of Firefox, on Linux in /etc/firefox/policies; or \
                enter the URL in Settings, Privacy & Security, DNS over HTTPS, Max Protection, Custom.
                """
            )
        case .chrome:
            guard let template else { throw Self.needsHTTPS }
            let content = JSONWriter.object { writer in
                writer.member("DnsOverHttpsMode", "secure")
                writer.member("DnsOverHttpsTemplates", template)
            }
            return (
                content,
                """
                Save this in /etc/opt/chrome/policies/managed (Chromium: /etc/chromium/policies/managed), or set both \
                policies; or enter the template in Settings, Privacy and security, Security, Use secure DNS.
                """
            )
        case .linux:
            guard let tls else {
                throw CommandFailure("systemd-resolved knows DNS over TLS alone: listen.tls must have an address")
            }
            guard !addresses.isEmpty else { throw Self.needsAddress }
            let port = hasUsualTLS ? "" : ":\(tls)"
            let servers = addresses.map { address in
                (address.recordType == .aaaa && !port.isEmpty ? "[\(address)]" : "\(address)") + port + "#\(name)"
            }
            return (
                "[Resolve]\nDNS=\(servers.joined(separator: " "))\nDNSOverTLS=yes\nDomains=~.",
                "Save this as /etc/systemd/resolved.conf.d/httpdnsd.conf and run: systemctl restart systemd-resolved"
            )
        }
    }
}

/// `httpdnsd profile`: prints what makes a phone, a browser or another machine use this server encrypted.
struct ProfileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Prints what makes a phone, a browser or another machine use this server.",
        discussion: """
            From listen.name, listen.tls, listen.https and listen.advertise of the configuration; with --https it is not read. \
            What is to be saved or entered goes to standard output, what to do with it to standard error.
            """)

    @OptionGroup var file: ConfigurationFile

    @Argument(help: "For what: \(ProfileSystem.allCases.map(\.rawValue).joined(separator: ", ")).")
    var system: ProfileSystem

    @Option(help: .init("A name of the server's certificate; else listen.name.", valueName: "name"))
    var name: String?

    @Option(help: .init("The URL of DNS over HTTPS, of any server.", valueName: "url"))
    var https: String?

    @Option(
        name: .customLong("address"),
        help: .init("An address of the server; may be repeated. Else listen.advertise.", valueName: "address"))
    var addresses: [String] = []

    @Option(
        name: .customLong("trusted-ssid"),
        help: .init(
            "A wireless network whose own DNS is used instead (ios); may be repeated.", valueName: "ssid"))
    var trustedSSIDs: [String] = []

    func validate() throws {
        if let name, !Self.isHostName(name) { throw ValidationError("--name \(name): not a name") }
        if let https, Self.host(of: https) == nil {
            throw ValidationError("--https \(https): not a URL such as https://dns.example.com/dns-query")
        }
        for address in addresses where IPAddress(address) == nil {
            throw ValidationError("--address \(address): not an IP address")
        }
        if trustedSSIDs.contains("") { throw ValidationError("--trusted-ssid: must name a wireless network") }
    }

    func run() throws {
        var profile = try server()
        if !addresses.isEmpty { profile.addresses = addresses.compactMap { IPAddress($0) } }
        profile.trustedSSIDs = trustedSSIDs
        do throws(CommandFailure) {
            let text = try profile.text(for: system, crypto: OpenSSLCrypto())
            showDocument(Array((text.content + "\n").utf8))
            printError(VisibleText(lines: text.advice))
        } catch {
            throw CommandFailure(error.lines.map { "\(system.rawValue): \($0)" })
        }
    }

    private func server() throws -> Profile {
        if let https { return Profile(name: name ?? Self.host(of: https) ?? https, https: https) }
        let listen = try file.load().configuration.listen
        guard listen.name != nil || name != nil else {
            throw CommandFailure(
                "the server's name is not known: write listen.name, a name of its certificate, or give --name")
        }
        guard let profile = Profile(listen, name: name) else {
            throw CommandFailure(
                "there is no encrypted listener: write listen.tls or listen.https, with certificate and key")
        }
        return profile
    }

    /// The host of a URL of DNS over HTTPS; nil for any other text, and for one that would end a string in quotes.
    private static func host(of text: String) -> String? {
        guard let url = try? ProviderURL(text), url.scheme == .https, !url.path.isEmpty, !url.path.contains("'") else {
            return nil
        }
        return url.host.description
    }

    private static func isHostName(_ text: String) -> Bool {
        let bytes = text.utf8
        return (try? Name(text)).map { !$0.isRoot } == true
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e: true
                default: false
                }
            }
    }
}
