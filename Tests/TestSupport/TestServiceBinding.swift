import DNSWire

/// Rdata of HTTPS and SVCB records, well-formed or not.
package enum TestServiceBinding {
    /// Rdata with a priority, a target and the given SvcParams.
    package static func rdata(
        _ priority: UInt16 = 1, _ target: String = ".", _ parameters: [(UInt16, [UInt8])] = []
    ) -> [UInt8] {
        func bytes(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 0xff), UInt8(number & 0xff)] }
        return bytes(Int(priority)) + ((try? Name(target))?.wire ?? [0])
            + parameters.flatMap { bytes(Int($0.0)) + bytes($0.1.count) + $0.1 }
    }
}
