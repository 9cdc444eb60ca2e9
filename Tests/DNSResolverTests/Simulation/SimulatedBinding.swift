import DNSWire

/// An HTTPS record as `SimulatedServer` makes it, read without the code that rewrites it.
struct SimulatedBinding {
    var hints: [IPAddress] = []
    var telling = -1

    init?(_ rdata: [UInt8]) {
        // Behind the priority and the target.
        var at = 2
        while at < rdata.count, rdata[at] > 0 { at += 1 + Int(rdata[at]) }
        at += 1
        while at + 4 <= rdata.count {
            let key = UInt16(rdata[at]) << 8 | UInt16(rdata[at + 1])
            let length = Int(rdata[at + 2]) << 8 | Int(rdata[at + 3])
            guard at + 4 + length <= rdata.count else { return nil }
            let value = rdata[(at + 4)..<(at + 4 + length)]
            switch key {
            case 4, 6:
                let size = key == 4 ? 4 : 16
                guard length % size == 0 else { return nil }
                for start in stride(from: value.startIndex, to: value.endIndex, by: size) {
                    take(value[start..<(start + size)])
                }
            case SimulatedServer.mark: telling = value.reduce(0) { $0 << 8 | Int($1) }
            default: return nil
            }
            at += 4 + length
        }
    }

    private mutating func take(_ bytes: ArraySlice<UInt8>) {
        if let address = IPAddress(bytes: bytes) { hints.append(address) }
    }
}
