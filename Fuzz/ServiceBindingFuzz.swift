// Any rdata: the reader accepts or refuses it, and accepted rdata is written byte for byte, also after a hint was
// changed and changed back.

@testable import DNSWire

func fuzzServiceBinding(_ bytes: [UInt8]) {
    guard let binding = ServiceBinding(rdata: bytes) else { return }
    precondition(binding.rdata == bytes, "what was read is written otherwise")
    for type in [RecordType.a, .aaaa] {
        let address = type == .a ? IPAddress.v4(1) : .v6(1)
        let changed = binding.replacingHints(of: type, with: [address])
        precondition(changed?.hintedTypes == binding.hintedTypes, "a hint came or went")
        precondition(changed.flatMap { ServiceBinding(rdata: $0.rdata) } == changed, "what was changed is refused")
        if let without = binding.replacingHints(of: type, with: []) {
            precondition(!without.hintedTypes.contains(type), "a hint stayed")
            precondition(ServiceBinding(rdata: without.rdata) == without, "what was left out spoils the rest")
        }
    }
}
