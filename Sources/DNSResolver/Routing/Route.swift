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
