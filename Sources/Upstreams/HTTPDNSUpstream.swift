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
    /// The addresses configured or last looked up.
    private var current: [HTTPDNSEndpoint] = []
    /// Addresses of earlier look-ups that have answered: used beside the current ones until one of those answers.
    ///
    /// The last look-up may have been a lie, and these are proven to be the service's. They are never more than were
    /// current at one time, since whenever one of those answers the older ones go.
    private var proven: [HTTPDNSEndpoint] = []
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
        // Here, while there is one thread; the first request would be too late.
        _ = curlIsReady
        update(settings.knownAddresses)
        lookup?.onChange = { [weak self] in self?.update($0.map(settings.atURLPort)) }
        unknown = lookup.map { lookup in
            BootstrapEndpoint(host: settings.host, lookup: lookup, first: { [weak self] in self?.known.first })
        }
    }

    package nonisolated var isAuthenticated: Bool {
        settings.scheme == .https || settings.service.authenticatesReplies
    }

    package nonisolated func answers(_ type: RecordType) -> Bool { settings.service.answers(type) }

    /// One for each address. Those of a looked-up host are refreshed behind the asker's back once they are due.
    package var endpoints: [any Endpoint] {
        lookup?.refreshIfDue()
        return knownEndpoints
    }

    /// The same without starting a look-up: for those who only look.
    package var knownEndpoints: [any Endpoint] { known.isEmpty ? unknown.map { [$0] } ?? [] : known }

    /// The network is another one: connections are made anew, whoever was set aside is asked again, and the service's host
    /// is looked up again, if it needs that.
    package func networkChanged() {
        health = ProviderHealth()
        unknown?.health.forget(at: loop.now)
        for endpoint in known { endpoint.networkChanged() }
        lookup?.lookAgain()
    }

    /// Starts the look-up of the service's host, if it needs one; without this the first use does.
    package func start() { lookup?.refreshIfDue() }

    /// The proven ones second: as a question's hedge they are reached however many false addresses there are.
    private var known: [HTTPDNSEndpoint] { current.prefix(1) + proven + current.dropFirst() }

    /// Takes over new addresses; endpoints of those that stay keep their connections, and those that have answered stay.
    func update(_ addresses: [SocketAddress]) {
        let old = known
        current = addresses.map { address in old.first { $0.address == address } ?? endpoint(at: address) }
        proven = old.filter { $0.isProven && !addresses.contains($0.address) }
    }

    private func endpoint(at address: SocketAddress) -> HTTPDNSEndpoint {
        let endpoint = HTTPDNSEndpoint(settings, address, clock, loop: loop)
        endpoint.onUnreachable = { [weak self] in self?.lookup?.addressFailed() }
        endpoint.onAnswered = { [weak self, weak endpoint] in
            guard let self, let endpoint else { return }
            if self.current.contains(where: { $0 === endpoint }) { self.proven = [] }
        }
        return endpoint
    }
}
