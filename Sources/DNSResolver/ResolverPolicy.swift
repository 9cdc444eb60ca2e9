/// What decides how questions are answered: replaced as one, never changed.
package struct ResolverPolicy: Sendable {
    package let localAnswers: LocalAnswers
    package let routes: RoutePolicy
    package let strategy: Strategy
    package let sources: SourceTags

    /// - Parameter sources: the numbers of the sources that `strategy` asks.
    package init(localAnswers: LocalAnswers, routes: RoutePolicy, strategy: Strategy, sources: SourceTags) {
        self.localAnswers = localAnswers
        self.routes = routes
        self.strategy = strategy
        self.sources = sources
    }

    /// The same with HTTPDNS switched off: what would be asked there goes to LocalDNS. `forward` entries stay.
    var switchedOff: ResolverPolicy {
        var routes = routes
        routes.mode = .localdnsOnly
        return ResolverPolicy(localAnswers: localAnswers, routes: routes, strategy: strategy, sources: sources)
    }
}
