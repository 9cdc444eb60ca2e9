// Any rdata: the reader accepts or refuses it, and accepted rdata is written byte for byte; what is left without hints is
// read again, and has none.

@testable import DNSWire

func fuzzServiceBinding(_ bytes: [UInt8]) {
    guard let binding = ServiceBinding(rdata: bytes) else { return }
    precondition(binding.rdata == bytes, "what was read is written otherwise")
    guard let without = binding.withoutHints else { return }
    precondition(ServiceBinding(rdata: without.rdata) == without, "what was left out spoils the rest")
    precondition(without.withoutHints == without, "a hint stayed")
}
