package import DNSWire
import HTTPDNS

extension Record {
    /// The rdata for people: an address or a name as text; everything else in the form for unknown types (RFC 3597
    /// section 5).
    package var dataText: String {
        if let address { return address.description }
        if [.cname, .ns, .ptr].contains(type), let name = try? Name(wire: rdata) { return name.description }
        return "\\# \(rdata.count) \(TextEncoding.hexadecimal(rdata))"
    }
}
