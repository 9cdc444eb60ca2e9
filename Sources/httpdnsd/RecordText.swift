import DNSWire

extension Record {
    /// The data for people: an address or a name as text; everything else in the form for unknown types (RFC 3597
    /// section 5).
    var dataText: String {
        if let address { return address.description }
        if [.cname, .ns, .ptr].contains(type), let name = try? Name(wire: rdata) { return name.description }
        let digits = rdata.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return "\\# \(rdata.count) \(digits)"
    }
}
