package import DNSWire

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
