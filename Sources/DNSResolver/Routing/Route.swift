package import DNSWire

/// The source to which the routing lists send a name.
package enum Route: Hashable, Sendable {
    /// HTTPDNS; `explicit` when `protect` lists the name or a parent of it.
    case protect(explicit: Bool)
    /// LocalDNS.
    case bypass
    /// LocalDNS, and HTTPDNS when it does not answer: one of `PortalChecks`.
    case portal
    /// The servers of `[[forward]]` entry `index`, counted from 0.
    case forward(index: Int)

    /// The tag of `portal`: no `[[forward]]` entry has it.
    private static let portalTag = UInt16.max - 1

    /// The number that stands for the route in cache entries.
    package var tag: UInt16 {
        switch self {
        case .protect(explicit: false): 0
        case .protect(explicit: true): 1
        case .bypass: 2
        case .portal: Self.portalTag
        case .forward(let index): 3 &+ UInt16(truncatingIfNeeded: index)
        }
    }

    /// The route with this number.
    package init(tag: UInt16) {
        self =
            switch tag {
            case 0: .protect(explicit: false)
            case 1: .protect(explicit: true)
            case 2: .bypass
            case Self.portalTag: .portal
            default: .forward(index: Int(tag) - 3)
            }
    }
}

extension Route: CustomStringConvertible {
    /// `protect`, `bypass`, `portal`, or the `[[forward]]` entry as `forward[1]`, counted from 1 as in messages on the
    /// configuration.
    package var description: String {
        switch self {
        case .protect: "protect"
        case .bypass: "bypass"
        case .portal: "portal"
        case .forward(let index): "forward[\(index + 1)]"
        }
    }
}

/// The order of the sources: as set by `[route] mode`, or as changed by the switch.
///
/// The raw values distinguish policies on disk.
package enum Mode: String, Sendable {
    /// HTTPDNS, with LocalDNS as fallback. The default.
    case httpdnsFirst = "httpdns-first"
    /// LocalDNS where certificates verify its addresses, else HTTPDNS.
    case localDNSFirst = "localdns-first"
    /// HTTPDNS only, for protected names.
    case httpdnsOnly = "httpdns-only"
    /// LocalDNS for every name that no `forward` entry matches.
    case localDNSOnly = "localdns-only"
}

/// The entry of a list, or of the static addresses, that decides about a name.
package enum RoutingRule: Hashable, Sendable {
    case protect(Name)
    case bypass(Name)
    /// Of the `[[forward]]` entry `index`, counted from 0.
    case forward(index: Int, Name)
    /// One of the names of a provider.
    case provider(Name)
    /// One of the network's names.
    case network(Name)
    /// Static addresses; of a wildcard the part after `*.`.
    case preset(Name, isWildcard: Bool)
}
