package import DNSWire

/// The routing lists: suffixes matched on whole labels, the longest match wins; at equal length `forward`, then
/// `bypass`, then `protect`. A name that no provider may answer is never protected, nor one that belongs to the network.
package struct RoutePolicy: Equatable, Sendable {
    package var mode: Mode
    private let lists: RoutingLists

    /// - Parameters:
    ///   - forward: the suffixes of each `[[forward]]` entry, in order.
    ///   - searchDomains: the `search` lists of the system. They come from the network, which chooses no route:
    ///     `isInSearchDomain` says what they are good for.
    ///   - providers: the `names` of each provider; none means every name.
    ///   - networkNames: suffixes that belong to the network unless one of the lists or a provider names them.
    package init(
        mode: Mode = .httpdnsFirst, protect: NameList = [], bypass: NameList = [], forward: [NameList] = [],
        searchDomains: [Name] = [], providers: [[Name]] = [[]], networkNames: NameList = NetworkNames.builtIn
    ) {
        self.mode = mode
        lists = RoutingLists(
            protect: protect, bypass: bypass, forward: forward, searchDomains: searchDomains, providers: providers,
            networkNames: networkNames)
    }

    /// Bytes that the entries of `protect`, `bypass` and `forward` have taken: for each its name in wire form, and at most 32.
    /// Only tests ask, which hold it to that.
    package var listMemory: Int { lists.rules.memory }

    /// Whether answers of LocalDNS by this route stand in for a provider's, and are trusted less.
    package func prefersProviders(_ route: Route) -> Bool {
        if case .protect = route { mode != .localDNSFirst } else { false }
    }

    /// The route of the list entry that names `name` or the nearest parent of it.
    ///
    /// - Parameter belowRoot: leaves an entry for the root, which names everything, out of account.
    package func listed(_ name: Name, belowRoot: Bool = false) -> Route? {
        lists.rules.nearest(to: name, belowRoot: belowRoot).map { Route(tag: $0.value) }
    }

    /// The route of any name: single labels never leave the network unless a list says so.
    package func route(for name: Name) -> Route {
        let listed = listed(name)
        if networkZone(of: name) != nil {
            // An entry for the root names everything; only one of `forward` means these names too.
            if let listed, case .forward = listed { return listed }
            return .bypass
        }
        let route = listed ?? unlistedRoute(for: name)
        guard mode == .localDNSOnly || !lists.providersKnowAll else { return route }
        return switch route {
        case .bypass, .forward: route
        case .portal: .bypass
        case .protect: mode != .localDNSOnly && lists.providerNames.nearest(to: name) != nil ? route : .bypass
        }
    }

    /// The suffix of the network's names that `name` is within; nil where a list or a provider names it, other than by the
    /// root, or where it does not belong to the network.
    package func networkZone(of name: Name) -> Name? {
        guard let zone = lists.networkNames.nearest(to: name), listed(name, belowRoot: true) == nil,
            lists.providerNames.nearest(to: name, belowRoot: true) == nil
        else { return nil }
        return zone.suffix.name
    }

    private func unlistedRoute(for name: Name) -> Route {
        guard lists.protectsUnlisted, let parent = NameSuffix(name).parent, !parent.isRoot else { return .bypass }
        if lists.providerNames.nearest(to: name) != nil { return .protect(explicit: true) }
        return .protect(explicit: false)
    }

    /// Whether LocalDNS is asked for a protected name, in lower case, that the providers deny: it may be the network's own.
    package func isInSearchDomain(_ name: Name) -> Bool { lists.searchDomains.nearest(to: name) != nil }
}

/// What the lists say. An object: the policy is handed on with each question, and a list may be long.
private final class RoutingLists: Sendable, Equatable {
    /// The tag of the route, which is smaller.
    let rules: NameSuffixTable<UInt16>
    /// Whether names that no list matches are protected: when `protect` is empty.
    let protectsUnlisted: Bool
    /// Domains that the C library appends to short names; what lies in them may belong to the local network.
    let searchDomains: NameSuffixTable<Bool>
    /// Suffixes that a provider is asked for explicitly.
    let providerNames: NameSuffixTable<Bool>
    /// Whether some provider may be asked for every name.
    let providersKnowAll: Bool
    /// What belongs to the network unless another list names it. Of the search domains only what lies in the domain of
    /// multicast DNS, which no provider knows.
    let networkNames: NameSuffixTable<Bool>

    init(
        protect: NameList, bypass: NameList, forward: [NameList], searchDomains: [Name], providers: [[Name]],
        networkNames: NameList
    ) {
        self.networkNames = Self.table(
            of: Array(networkNames) + searchDomains.filter { $0.isWithin(NetworkNames.multicast) })
        protectsUnlisted = protect.isEmpty
        self.searchDomains = Self.table(of: searchDomains)
        providerNames = Self.table(of: providers.flatMap { $0 })
        providersKnowAll = providers.contains(where: \.isEmpty)
        let lists = [protect, bypass] + forward
        var rules = NameSuffixTable<UInt16>(
            count: lists.reduce(1) { $0 + $1.count },
            bytes: lists.reduce(LoopProbes.zone.wire.count) { $0 + $1.byteCount })
        // Of another such server too: a circle through two of them comes back, and no provider ever hears of it.
        rules.set(Route.bypass.tag, for: LoopProbes.zone)
        for name in protect { rules.set(Route.protect(explicit: true).tag, for: name) }
        for name in bypass { rules.set(Route.bypass.tag, for: name) }
        for (index, suffixes) in forward.enumerated().reversed() {
            for name in suffixes { rules.set(Route.forward(index: index).tag, for: name) }
        }
        // The configuration goes first. What would not be protected is LocalDNS's alone.
        for name in protectsUnlisted && providersKnowAll ? PortalChecks.names : []
        where rules.nearest(to: name) == nil && providerNames.nearest(to: name) == nil {
            rules.set(Route.portal.tag, for: name)
        }
        self.rules = rules
    }

    private static func table(of names: [Name]) -> NameSuffixTable<Bool> {
        var table = NameSuffixTable<Bool>()
        for name in names { table.set(true, for: name) }
        return table
    }

    static func == (left: RoutingLists, right: RoutingLists) -> Bool {
        left.rules == right.rules && left.protectsUnlisted == right.protectsUnlisted
            && left.searchDomains == right.searchDomains && left.providerNames == right.providerNames
            && left.providersKnowAll == right.providersKnowAll && left.networkNames == right.networkNames
    }
}
