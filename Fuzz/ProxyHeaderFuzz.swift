// sources: Sources/CLinux Sources/Scheduling Sources/DNSWire Sources/Platform Sources/DNSServer/TLS/ProxyHeader.swift Fuzz/FuzzSupport/Script.swift
//
// Any bytes at the beginning of a connection from a proxy, in any parts: no more is asked for than a header may have, and
// a part more or less changes nothing.

@testable import ProxyHeader
import Script

/// libFuzzer's entry point: one input.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzProxyHeader(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var script = Script(data, count)
    let rest = script.bytes(count)
    var (parts, whole, taken) = (ProxyHeader(), ProxyHeader(), 0)
    while case .needs(let wanted) = parts.progress, taken < rest.count {
        precondition(wanted > 0 && taken + wanted <= 16 + 1_024, "it asks for too much")
        let size = min(wanted, rest.count - taken, 1 + taken % 7)
        parts.append(rest[taken..<(taken + size)])
        taken += size
    }
    whole.append(rest.prefix(taken))
    precondition(parts.progress == whole.progress, "the parts matter")
    return 0
}
