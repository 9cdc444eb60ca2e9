import DNSWire

extension Name {
    /// The name as a host in a URL that libcurl takes unchanged; nil where it would read something else into it: an
    /// escape, a numeric address, characters not allowed in a host.
    var urlHost: String? {
        guard let last = labels.last, let initial = last.first, !(0x30...0x39).contains(initial) else { return nil }
        let isPlain = labels.allSatisfy { label in
            label.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
        }
        return isPlain ? description : nil
    }
}
