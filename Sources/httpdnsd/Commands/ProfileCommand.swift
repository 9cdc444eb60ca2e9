import ArgumentParser
import Configuration
import DNSWire
import HTTPDNS
import Platform
import Upstreams

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
    }

    func run() throws {
        var profile = try server()
        if !addresses.isEmpty { profile.addresses = addresses.compactMap { IPAddress($0) } }
        profile.trustedSSIDs = trustedSSIDs
        do throws(ProfileProblem) {
            let text = try profile.text(for: system, crypto: OpenSSLCrypto())
            showDocument(Array((text.content + "\n").utf8))
            printError(VisibleText(lines: text.advice))
        } catch {
            throw ExitStatus.no.exit("\(system.rawValue): \(error.text)")
        }
    }

    private func server() throws -> Profile {
        if let https { return Profile(name: name ?? Self.host(of: https) ?? https, https: https) }
        let listen = try file.load().configuration.listen
        guard listen.name != nil || name != nil else {
            throw ExitStatus.no.exit(
                "the server's name is not known: write listen.name, a name of its certificate, or give --name")
        }
        guard let profile = Profile(listen, name: name) else {
            throw ExitStatus.no.exit(
                "there is no encrypted listener: write listen.tls or listen.https, with certificate and key")
        }
        return profile
    }

    /// The host of a URL of DNS over HTTPS; nil for any other text.
    private static func host(of url: String) -> String? {
        guard url.hasPrefix("https://"), url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            !url.utf8.contains(where: { "\"'<>\\{}?#".utf8.contains($0) })
        else { return nil }
        let rest = url.dropFirst("https://".count)
        guard let slash = rest.firstIndex(of: "/") else { return nil }
        var host = rest[..<slash]
        if let colon = host.lastIndex(of: ":"), host.last != "]" { host = host[..<colon] }
        return host.isEmpty ? nil : String(host)
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

extension ProfileSystem: ExpressibleByArgument {}
