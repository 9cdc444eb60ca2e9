/// The family of an address: IPv4 or IPv6.
package enum AddressFamily: Hashable, Sendable {
    case ipv4, ipv6
}
