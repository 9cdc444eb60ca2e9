public import DNSWire

/// The routing lists: suffixes matched on whole labels, the longest match wins; at equal length `forward`, then
/// `bypass`, then `protect`. A name that no provider may answer is never protected, nor one of the local network.
public struct RoutePolicy: Equatable, Sendable {
    public var mode: Mode
    /// The prefix by which IPv4 addresses are translated; nil: none is known.
    let translator: NAT64Prefix?
    private let lists: RoutingLists

    /// - Parameters:
    ///   - protectsUnlisted: whether names of no list are protected; nil: where `protect` is empty.
    ///   - forward: the suffixes of each `[[forward]]` entry, in order.
    ///   - searchDomains: the `search` lists of the system. They come from the network, which does not choose routes;
    ///     see `isInSearchDomain` for their use.
    ///   - providers: the `names` of each provider; none means every name.
    ///   - networkNames: suffixes of the local network, except where one of the lists or a provider has them.
    ///   - translator: the prefix by which the network translates IPv4 addresses: it has the names of such addresses.
    public init(
        mode: Mode = .httpdnsFirst, protect: NameList = [], protectsUnlisted: Bool? = nil, bypass: NameList = [],
        forward: [NameList] = [], searchDomains: [Name] = [], providers: [[Name]] = [[]],
        networkNames: NameList = NetworkNames.builtIn,
        translator: NAT64Prefix? = nil
    ) {
        let networkNames =
            Array(networkNames) + NetworkNames.translation + (translator.map { [$0.reverseZone] } ?? [])
        self.mode = mode
        self.translator = translator
        lists = RoutingLists(
            protect: protect, protectsUnlisted: protectsUnlisted ?? protect.isEmpty, bypass: bypass, forward: forward,
            searchDomains: searchDomains, providers: providers, networkNames: networkNames)
    }

    /// Bytes allocated for the entries of `protect`, `bypass` and `forward`: for each its name in wire format, and at
    /// most 32. For tests, which enforce that bound.
    public var listMemory: Int { lists.rules.memory }

    /// The route of the list entry for a name or its nearest parent.
    public func listed(_ name: Name) -> Route? { lists.rules.nearest(to: name).map { Route(tag: $0.value) } }

    /// Whether a list or a provider's names have a name, other than by the root.
    func isListed(_ name: Name) -> Bool {
        lists.rules.nearest(to: name, belowRoot: true) != nil
            || lists.providerNames.nearest(to: name, belowRoot: true) != nil
    }

    /// The entry that decides about a name: one of `protect` for the root comes after the rule for single labels.
    private func entry(for name: Name) -> (suffix: NameSuffix, value: UInt16)? {
        let entry = lists.rules.nearest(to: name)
        let isSingle = NameSuffix(name).parent?.isRoot ?? true
        return isSingle && entry?.suffix.isRoot == true && entry?.value == Route.protect(explicit: true).tag
            ? nil : entry
    }

    /// The route of a question, by its name in lower case: single labels do not leave the network unless a list has
    /// them.
    public func route(for name: Name, _ type: RecordType = .a) -> Route {
        let name = name.holder(of: type)
        let listed = type.belongsToDelegation ? listed(name) : entry(for: name).map { Route(tag: $0.value) }
        if networkZone(of: name) != nil {
            // An entry for the root matches every name; only one of `forward` applies to these names too.
            if let listed, case .forward = listed { return listed }
            return .bypass
        }
        let route = listed ?? unlistedRoute(for: name, type)
        guard mode == .localDNSOnly || !lists.providersKnowAll else { return route }
        return switch route {
        case .bypass, .forward: route
        case .portal: .bypass
        case .protect: mode != .localDNSOnly && lists.providerNames.nearest(to: name) != nil ? route : .bypass
        }
    }

    /// The suffix of the network's names that `name` is within; nil where a list or a provider has the name, other than
    /// by the root, or where it does not belong to the network.
    public func networkZone(of name: Name) -> Name? {
        guard let zone = lists.networkNames.nearest(to: name), !isListed(name) else { return nil }
        return zone.suffix.name
    }

    /// Whether providers may be asked for the host of a service that we use ourselves, in lower case: not where a list sends
    /// it elsewhere, or where it belongs to the network. Names of no list are asked for, also where `protect` lists others.
    public func mayTellProviders(of host: Name) -> Bool {
        guard networkZone(of: host) == nil else { return false }
        return switch entry(for: host).map({ Route(tag: $0.value) }) {
        case .bypass, .forward: false
        case .protect: true
        case .portal, nil: NameSuffix(host).parent?.isRoot == false
        }
    }

    /// Why a name in lower case has its route, in words for operators, and the entry that decides it.
    func decision(on name: Name) -> (reason: String, rule: RoutingRule?) {
        let route = route(for: name, .a)
        if let zone = networkZone(of: name), route == .bypass {
            return ("\(zone) belongs to the network (route.network_names)", .network(zone))
        }
        guard let entry = entry(for: name) else { return unlistedDecision(on: name) }
        let suffix = entry.suffix.name
        let (text, rule): (String, RoutingRule?) =
            switch Route(tag: entry.value) {
            case .protect: ("route.protect has \(suffix)", .protect(suffix))
            case .bypass: ("route.bypass has \(suffix)", .bypass(suffix))
            case .forward(let index):
                ("the suffixes of forward[\(index + 1)] have \(suffix)", .forward(index: index, suffix))
            case .portal: ("systems look for a captive portal by \(suffix)", nil)
            }
        guard route.tag != entry.value else { return (text, rule) }
        let reason =
            mode == .localDNSOnly ? "LocalDNS alone is asked (route.mode)" : "no provider has it among its names"
        return ("\(text), and \(reason)", rule)
    }

    private func unlistedDecision(on name: Name) -> (reason: String, rule: RoutingRule?) {
        if NameSuffix(name).parent?.isRoot ?? true { return ("a single label does not leave the network", nil) }
        if !lists.protectsUnlisted { return ("route.protect lists other names", nil) }
        if mode == .localDNSOnly { return ("no list has it, and LocalDNS alone is asked", nil) }
        if let suffix = lists.providerNames.nearest(to: name)?.suffix.name {
            return ("the names of a provider have \(suffix)", .provider(suffix))
        }
        return (lists.providersKnowAll ? "no list has it" : "no provider has it among its names", nil)
    }

    private func unlistedRoute(for name: Name, _ type: RecordType) -> Route {
        // Whatever is listed: below what a validator cannot verify, no listed name is secure.
        guard let parent = NameSuffix(name).parent, !parent.isRoot else {
            return type.belongsToDelegation ? .protect(explicit: false) : .bypass
        }
        guard lists.protectsUnlisted else {
            return type.isKey && lists.aboveProtected.has(name) ? .protect(explicit: false) : .bypass
        }
        if lists.providerNames.nearest(to: name) != nil { return .protect(explicit: true) }
        return .protect(explicit: false)
    }

    /// Whether a name in lower case is the Internet's by the lists, also while HTTPDNS is off: providers may be asked for it,
    /// and LocalDNS is not when they deny it.
    func isPublic(_ name: Name, _ type: RecordType) -> Bool {
        var policy = self
        policy.mode = .httpdnsFirst
        guard case .protect = policy.route(for: name, type) else { return false }
        return !isInSearchDomain(name)
    }

    /// Whether LocalDNS is asked for a protected name, in lower case, that the providers deny: it may be one of the
    /// local network.
    public func isInSearchDomain(_ name: Name) -> Bool { lists.searchDomains.nearest(to: name) != nil }

    /// Whether its search domains are these, in any order.
    public func hasSearchDomains(_ domains: [Name]) -> Bool {
        lists.searchDomains == RoutingLists.searchTable(of: domains, lists.networkNames)
    }
}

extension RecordType {
    /// Whether the root and top-level domains have such records for validators and resolvers: DNSSEC's types (RFC 4034, RFC
    /// 5155, RFC 7344), NS and SOA.
    fileprivate var belongsToDelegation: Bool { [2, 6, 43, 46, 47, 48, 50, 51, 59, 60].contains(rawValue) }

    /// Whether validators ask for it at each zone above a name: DS or DNSKEY (RFC 4035 section 5).
    fileprivate var isKey: Bool { self == .ds || rawValue == 48 }
}

extension Name {
    /// The name in whose zone records of this type are: of DS the parent (RFC 4034 section 5).
    func holder(of type: RecordType) -> Name { type == .ds ? parent ?? self : self }
}

/// The contents of the lists. An object: the policy is passed on with each question, and a list may be long.
private final class RoutingLists: Sendable, Equatable {
    /// Values are tags of routes, which are smaller than routes.
    let rules: NameSuffixTable<UInt16>
    let protectsUnlisted: Bool
    /// While names that no list matches are not protected: the parents of those that are, but for the root and top-level
    /// domains.
    let aboveProtected: NameSuffixTable<Bool>
    /// Domains that the C library appends to short names; names below them may belong to the local network.
    let searchDomains: NameSuffixTable<Bool>
    /// Suffixes that a provider is asked for explicitly.
    let providerNames: NameSuffixTable<Bool>
    /// Whether some provider may be asked for every name.
    let providersKnowAll: Bool
    /// Suffixes of the local network, except where another list has them. Of the search domains only those within the
    /// domain of multicast DNS, which no provider knows.
    let networkNames: NameSuffixTable<Bool>

    init(
        protect: NameList, protectsUnlisted: Bool, bypass: NameList, forward: [NameList], searchDomains: [Name],
        providers: [[Name]], networkNames: [Name]
    ) {
        self.networkNames = Self.table(
            of: networkNames + searchDomains.filter { $0.isWithin(NetworkNames.multicast) })
        self.protectsUnlisted = protectsUnlisted
        aboveProtected = protectsUnlisted ? NameSuffixTable() : Self.parents(of: protect)
        self.searchDomains = Self.searchTable(of: searchDomains, self.networkNames)
        providerNames = Self.table(of: providers.flatMap { $0 })
        providersKnowAll = providers.contains(where: \.isEmpty)
        let lists = [protect, bypass] + forward
        var rules = NameSuffixTable<UInt16>(
            count: lists.reduce(1) { $0 + $1.count },
            bytes: lists.reduce(LoopProbes.zone.wire.count) { $0 + $1.byteCount })
        // Also for probes of another such server: a loop through two of them comes back, and no provider ever receives
        // the query.
        rules.set(Route.bypass.tag, for: LoopProbes.zone)
        for name in protect { rules.set(Route.protect(explicit: true).tag, for: name) }
        for name in bypass { rules.set(Route.bypass.tag, for: name) }
        for (index, suffixes) in forward.enumerated().reversed() {
            for name in suffixes { rules.set(Route.forward(index: index).tag, for: name) }
        }
        // The configuration takes precedence. Names that would not be protected go to LocalDNS only.
        let protectsAll = rules.nearest(to: .root)?.value == Route.protect(explicit: true).tag
        for name in (protectsUnlisted || protectsAll) && providersKnowAll ? PortalChecks.names : []
        where rules.nearest(to: name, belowRoot: protectsAll) == nil && providerNames.nearest(to: name) == nil {
            rules.set(Route.portal.tag, for: name)
        }
        self.rules = rules
    }

    /// The search domains in which names may be the network's: none of a single label, such as `com`, but of the network's.
    static func searchTable(of names: [Name], _ networkNames: NameSuffixTable<Bool>) -> NameSuffixTable<Bool> {
        table(of: names.filter { $0.labels.count > 1 || networkNames.nearest(to: $0.lowercased) != nil })
    }

    static func table(of names: [Name]) -> NameSuffixTable<Bool> {
        var table = NameSuffixTable<Bool>()
        for name in names { table.set(true, for: name) }
        return table
    }

    /// The parents of all names, but for the root and top-level domains.
    private static func parents(of names: NameList) -> NameSuffixTable<Bool> {
        var table = NameSuffixTable<Bool>()
        for name in names {
            var next = name.parent
            // Where one is there, so are its parents.
            while let parent = next, let above = parent.parent, !above.isRoot, !table.has(parent) {
                table.set(true, for: parent)
                next = above
            }
        }
        return table
    }

    static func == (left: RoutingLists, right: RoutingLists) -> Bool {
        left.rules == right.rules && left.protectsUnlisted == right.protectsUnlisted
            && left.searchDomains == right.searchDomains && left.providerNames == right.providerNames
            && left.providersKnowAll == right.providersKnowAll && left.networkNames == right.networkNames
    }
}
