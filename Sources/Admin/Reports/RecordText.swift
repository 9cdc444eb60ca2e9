package import DNSWire
import HTTPDNS

extension Record {
    /// The rdata in presentation form (RFC 1035 section 5.1), as `dig` prints it; types without one, and rdata that is
    /// malformed, in the form for unknown types (RFC 3597 section 5). Printable ASCII, whatever the bytes are.
    package var dataText: String {
        if let address { return address.description }
        return presentation ?? RecordDataReader.unknown(rdata)
    }

    private var presentation: String? {
        guard let fields = RecordTextField.fields(of: type) else { return nil }
        if [.svcb, .https].contains(type), ServiceBinding(rdata: rdata) == nil { return nil }
        var reader = RecordDataReader(rdata)
        var parts: [String] = []
        for field in fields {
            guard let text = reader.text(of: field) else { return nil }
            if !text.isEmpty { parts.append(text) }
        }
        return reader.isAtEnd ? parts.joined(separator: " ") : nil
    }
}
