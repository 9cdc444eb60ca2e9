// Any bytes at the beginning of a connection from a proxy, in any parts: no more is asked for than a header may have, and
// a part more or less changes nothing.

@testable import DNSServer

func fuzzProxyHeader(_ input: [UInt8]) {
    var script = Script(input)
    let rest = script.bytes(input.count)
    var (parts, whole, taken) = (ProxyHeader(), ProxyHeader(), 0)
    while case .needs(let wanted) = parts.progress, taken < rest.count {
        precondition(wanted > 0 && taken + wanted <= 16 + 1_024, "it asks for too much")
        let size = min(wanted, rest.count - taken, 1 + taken % 7)
        parts.append(rest[taken..<(taken + size)])
        taken += size
    }
    whole.append(rest.prefix(taken))
    precondition(parts.progress == whole.progress, "the parts matter")
}
