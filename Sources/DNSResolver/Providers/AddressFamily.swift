package enum AddressFamily: Hashable, Sendable {
    case ipv4, ipv6
}
