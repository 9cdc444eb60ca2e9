package import DNSWire

/// From which source names are answered (`[route] mode`).
package enum Mode: String, CaseIterable, Sendable {
    /// HTTPDNS; LocalDNS in reserve. The default.
    case httpdnsFirst = "httpdns-first"
    /// LocalDNS; HTTPDNS when it fails.
    case localdnsFirst = "localdns-first"
    /// HTTPDNS and nothing else for protected names.
    case httpdnsOnly = "httpdns-only"
    /// LocalDNS for every name that no `forward` entry matches.
    case localdnsOnly = "localdns-only"
}

/// The source to which the lists send a name.
package enum Route: Hashable, Sendable {
    /// HTTPDNS; `explicit` when `protect` lists the name or a parent of it.
    case protect(explicit: Bool)
    /// LocalDNS.
    case bypass
    /// The servers of `[[route.forward]]` entry `index`, counted from 0.
    case forward(index: Int)

    /// The number under which the cache keeps the route of an entry.
    package var tag: UInt32 {
        switch self {
        case .protect(explicit: false): 0
        case .protect(explicit: true): 1
        case .bypass: 2
        case .forward(let index): 3 &+ UInt32(truncatingIfNeeded: index)
        }
    }
}

/// The routing lists: suffixes matched on whole labels, the longest match wins; at equal length `forward`, then
/// `bypass`, then `protect`.
package struct RoutePolicy: Sendable {
    package var mode: Mode
    private var rules: [Name: Route] = [:]
    /// Whether names that no list matches are protected: when `protect` is empty.
    private let protectsUnlisted: Bool
    /// Domains that the C library appends to short names; what lies in them belongs to the local network.
    private let searchDomains: Set<Name>

    /// - Parameters:
    ///   - forward: the suffixes of each `[[route.forward]]` entry, in order.
    ///   - searchDomains: the `search` list of the system's `resolv.conf`.
    package init(
        mode: Mode = .httpdnsFirst, protect: [Name] = [], bypass: [Name] = [], forward: [[Name]] = [],
        searchDomains: [Name] = []
    ) {
        self.mode = mode
        protectsUnlisted = protect.isEmpty
        self.searchDomains = Set(searchDomains)
        for name in protect { rules[name] = .protect(explicit: true) }
        for name in bypass { rules[name] = .bypass }
        for (index, suffixes) in forward.enumerated().reversed() {
            for name in suffixes { rules[name] = .forward(index: index) }
        }
    }

    /// The route of the list entry that names `name` or the nearest parent of it.
    ///
    /// - Parameter belowRoot: leaves an entry for the root, which names everything, out of account.
    package func listed(_ name: Name, belowRoot: Bool = false) -> Route? {
        var suffix: Name? = name
        while let current = suffix, !(belowRoot && current.isRoot) {
            if let route = rules[current] { return route }
            suffix = current.parent
        }
        return nil
    }

    /// The route of any name: single labels and names in a search domain never leave the network unless a list says so.
    package func route(for name: Name) -> Route {
        let route = listed(name) ?? unlistedRoute(for: name)
        if mode == .localdnsOnly, case .protect = route { return .bypass }
        return route
    }

    private func unlistedRoute(for name: Name) -> Route {
        guard protectsUnlisted, let parent = name.parent, !parent.isRoot else { return .bypass }
        var suffix: Name? = searchDomains.isEmpty ? nil : name
        while let current = suffix {
            if searchDomains.contains(current) { return .bypass }
            suffix = current.parent
        }
        return .protect(explicit: false)
    }
}
