import ArgumentParser
import Configuration
import DNSWire
import HTTPDNS
import Platform

/// `httpdnsd healthcheck`: whether the server answers at all.
struct HealthcheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Checks that the server answers on its DNS port; needs no control socket.",
        discussion: """
            Asks for the server's version over UDP, at the first listen address of the configuration. Whether providers or \
            LocalDNS can be reached does not matter, nor whether listen.allow has the asking address. Exit status 0 as soon \
            as the server answers, else 1 within two seconds, also where another DNS server answers.
            """)

    @OptionGroup var file: ConfigurationFile

    @Option(
        help: .init(
            "The server's address and port, instead of the first one in the configuration.", valueName: "address"))
    var server: String?

    func validate() throws {
        if let server, AddressAndPort(server) == nil {
            throw ValidationError("--server \(server): not an address with a port, such as 127.0.0.1:53 or [::1]:53")
        }
    }

    func run() throws {
        let endpoint = try endpoint()
        guard endpoint.port != 0, let address = SocketAddress(endpoint.reachable) else {
            printError("\(endpoint): cannot be asked; name the server with --server")
            throw ExitStatus.no.exitCode
        }
        do throws(SystemError) {
            switch try LivenessProbe(address).outcome() {
            case .serves, .refuses: return
            case .foreign: printError("\(address): another DNS server answers there")
            case .silent: printError("\(address): no answer")
            }
        } catch {
            printError("\(error)")
        }
        throw ExitStatus.no.exitCode
    }

    private func endpoint() throws -> AddressAndPort {
        if let server, let endpoint = AddressAndPort(server) { return endpoint }
        do throws(ConfigurationError) {
            let settings = try Configuration.loadTables(["listen"], path: file.path, file.variables)
            return settings.listen.addresses[0]
        } catch {
            for diagnostic in error.diagnostics { printError("\(diagnostic)") }
            throw ExitStatus.configuration.exitCode
        }
    }
}

extension AddressAndPort {
    /// Where a server that is bound here can be asked: loopback for a wildcard.
    var reachable: AddressAndPort {
        switch address {
        case .v4(0): AddressAndPort(.v4(0x7f00_0001), port: port)
        case .v6(0): AddressAndPort(.v6(1), port: port)
        default: self
        }
    }
}
