/// A record's or question's class: 16 bits (RFC 1035 section 3.2.4).
@frozen
@usableFromInline
package struct RecordClass: RawRepresentable, Hashable, Sendable {
    @usableFromInline package let rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    @inlinable
    package static var internet: RecordClass { RecordClass(rawValue: 1) }
    /// CHAOS, in which servers answer queries about themselves.
    @inlinable
    package static var chaos: RecordClass { RecordClass(rawValue: 3) }
    /// QCLASS `ANY`, only in questions: every class.
    @inlinable
    package static var any: RecordClass { RecordClass(rawValue: 255) }
}
