/// QNAME, QTYPE and QCLASS (RFC 1035 section 4.1.2).
package struct Question: Hashable, Sendable {
    /// With the letter case of the query; compared case-insensitively.
    package var name: Name
    package var type: RecordType
    package var `class`: RecordClass

    package init(name: Name, type: RecordType, class: RecordClass = .internet) {
        self.name = name
        self.type = type
        self.class = `class`
    }
}

extension Question: CustomStringConvertible {
    package var description: String { "\(name) \(type)" }
}
