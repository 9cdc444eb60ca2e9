/// A record's or question's class: 16 bits (RFC 1035 section 3.2.4).
@frozen
package struct RecordClass: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let internet = RecordClass(rawValue: 1)
    /// CHAOS, in which servers answer questions about themselves.
    package static let chaos = RecordClass(rawValue: 3)
    package static let any = RecordClass(rawValue: 255)
}
