package import DNSWire

/// What decides how questions are answered: replaced as one, never changed. Every flight refers to the one that began it.
package final class ResolverPolicy: Sendable {
    package let localAnswers: LocalAnswers
    package let routes: RoutePolicy
    package let strategy: Strategy
    package let sources: SourceTags
    /// Addresses for names that nobody else could answer.
    package let lastResort: Presets
    /// Names that are looked up before a client asks.
    package let preresolve: [Name]

    /// - Parameter sources: the numbers of the sources that `strategy` asks.
    package init(
        localAnswers: LocalAnswers, routes: RoutePolicy, strategy: Strategy, sources: SourceTags,
        lastResort: Presets = Presets(), preresolve: [Name] = []
    ) {
        self.lastResort = lastResort
        self.preresolve = preresolve
        self.localAnswers = localAnswers
        self.routes = routes
        self.strategy = strategy
        self.sources = sources
    }

    /// A name given by hand exists, whatever is told of its other types: who hears NXDOMAIN forgets its addresses too.
    func consistent(_ answer: consuming Answer, for key: FlightKey) -> Answer {
        guard answer.responseCode == .nameError, !key.isSigned, localAnswers.presets.addresses(of: key.name) != nil
        else {
            return answer
        }
        answer.responseCode = .noError
        return answer
    }

    /// The same with HTTPDNS switched off: what would be asked there goes to LocalDNS. `forward` entries stay.
    var switchedOff: ResolverPolicy {
        var routes = routes
        routes.mode = .localDNSOnly
        return ResolverPolicy(
            localAnswers: localAnswers, routes: routes, strategy: strategy, sources: sources, lastResort: lastResort,
            preresolve: preresolve)
    }
}
