package import DNSResolver
package import DNSWire
import HTTPDNS
package import Platform
package import Scheduling

/// One configured HTTPDNS provider: a service's wire form, and the addresses where it is reached.
@Loop
package final class HTTPDNSUpstream: Provider {
    package nonisolated let name: String
    package nonisolated let names: [Name]
    package nonisolated let answersBothFamilies: Bool
    package var health = ProviderHealth()
    private nonisolated let settings: HTTPDNSSettings
    private let loop: EventLoop
    private let clock: ServiceClock
    /// Finds the addresses of a host without configured ones.
    private let lookup: ServiceAddresses?
    private var known: [HTTPDNSEndpoint] = []
    /// Asked until the first address is known.
    private var unknown: BootstrapEndpoint?

    /// - Parameters:
    ///   - bootstrap: looks up the service's host where it has no address; must not lead back to us.
    ///   - timeOfDay: seconds since 1970, for signatures.
    package init(
        _ settings: HTTPDNSSettings, loop: EventLoop, bootstrap: any Upstream,
        timeOfDay: @escaping @Sendable () -> Int64
    ) {
        name = settings.name
        names = settings.names
        answersBothFamilies = settings.service.answersBothFamilies
        self.settings = settings
        self.loop = loop
        clock = ServiceClock(timeOfDay)
        // Over http nothing would prove that a looked-up address is the service's.
        let host = settings.knownAddresses.isEmpty && settings.scheme == .https ? try? Name(settings.host) : nil
        lookup = host.map { ServiceAddresses(host: $0.lowercased, upstream: bootstrap, clock: loop) }
        update(settings.knownAddresses)
        lookup?.onChange = { [weak self] in self?.update($0.map(settings.atURLPort)) }
        unknown = lookup.map { lookup in
            BootstrapEndpoint(host: settings.host, lookup: lookup, first: { [weak self] in self?.known.first })
        }
    }

    package nonisolated var isAuthenticated: Bool { settings.scheme == .https }

    package nonisolated func answers(_ type: RecordType) -> Bool { settings.service.answers(type) }

    /// One for each address. Those of a looked-up host are refreshed behind the asker's back once they are due.
    package var endpoints: [any Endpoint] {
        lookup?.refreshIfDue()
        return known.isEmpty ? unknown.map { [$0] } ?? [] : known
    }

    /// Starts the look-up of the service's host, if it needs one; without this the first use does.
    package func start() { lookup?.refreshIfDue() }

    /// Takes over new addresses; endpoints of those that stay keep their connections.
    private func update(_ addresses: [SocketAddress]) {
        known = addresses.compactMap { address in
            if let endpoint = known.first(where: { $0.address == address }) { return endpoint }
            // Fails only without memory; the address is tried again with the next update.
            guard let transfers = try? HTTPTransfers(settings.origin(at: address), loop: loop) else { return nil }
            return HTTPDNSEndpoint(
                settings, address, transfers, clock, loop: loop,
                onUnreachable: { [weak self] in self?.lookup?.addressFailed() })
        }
    }
}
