package import HTTPDNS

/// A report of the control API. Its members are the properties that are marked with `@Member`, in their order.
package protocol JSONRecord: Equatable, JSONValue {
    /// Writes all members, and what follows from them.
    func write(to writer: inout JSONWriter)
}

extension JSONRecord {
    /// The report as one JSON object.
    package var json: String { JSONWriter.object { write(to: &$0) } }

    package func write(to writer: inout JSONWriter) { writeMembers(to: &writer) }

    func writeMembers(to writer: inout JSONWriter) { for member in members { member.write(to: &writer) } }

    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, object: { write(to: &$0) }) }

    package func writeElement(to writer: inout JSONWriter) { writer.object { write(to: &$0) } }

    private var members: [any ReportMember] {
        Mirror(reflecting: self).children.compactMap { $0.value as? any ReportMember }
    }
}

/// A property of a report that is a member of its JSON object, by its key.
@propertyWrapper
package struct Member<Value: JSONValue & Equatable>: Equatable, Sendable {
    /// When a member is left out.
    package enum Presence: Sendable {
        case always
        /// Where there is no value, or an empty one.
        case ifAny
    }

    let key: String
    private let presence: Presence
    /// For true and for false, of a flag that is a word in JSON; else empty.
    private let words: [String]
    package var wrappedValue: Value

    package init(wrappedValue: Value, _ key: String, _ presence: Presence = .always) {
        (self.wrappedValue, self.key, self.presence, words) = (wrappedValue, key, presence, [])
    }

    package init(_ key: String, _ presence: Presence = .always) where Value: ExpressibleByNilLiteral {
        self.init(wrappedValue: nil, key, presence)
    }

    package init(wrappedValue: Value, _ key: String, _ yes: String, _ no: String) where Value == Bool {
        (self.wrappedValue, self.key, presence, words) = (wrappedValue, key, .always, [yes, no])
    }
}

/// A member of any kind.
private protocol ReportMember {
    func write(to writer: inout JSONWriter)
}

extension Member: ReportMember {
    fileprivate func write(to writer: inout JSONWriter) {
        let value = wrappedValue
        if presence == .ifAny, value.isNone { return }
        if !words.isEmpty, let flag = value as? Bool { return writer.member(key, flag ? words[0] : words[1]) }
        value.write(key, to: &writer)
    }
}

/// What a member of a report can be.
package protocol JSONValue: Sendable {
    /// Writes it as a member of an object.
    func write(_ key: String, to writer: inout JSONWriter)
    /// Writes it as an element of an array.
    func writeElement(to writer: inout JSONWriter)
    /// Whether it is nil, zero, or an empty text.
    var isNone: Bool { get }
}

extension JSONValue {
    package func writeElement(to writer: inout JSONWriter) {}

    package var isNone: Bool { false }
}

extension String: JSONValue {
    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, self) }

    package func writeElement(to writer: inout JSONWriter) { writer.string(self) }

    package var isNone: Bool { isEmpty }
}

extension Bool: JSONValue {
    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, self) }
}

extension Int: JSONValue {
    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, self) }

    package func writeElement(to writer: inout JSONWriter) { writer.integer(self) }

    package var isNone: Bool { self == 0 }
}

extension Optional: JSONValue where Wrapped: JSONValue {
    package func write(_ key: String, to writer: inout JSONWriter) {
        guard let self else { return writer.member(key, String?.none) }
        self.write(key, to: &writer)
    }

    package var isNone: Bool { self == nil }
}

extension Array: JSONValue where Element: JSONValue {
    package func write(_ key: String, to writer: inout JSONWriter) {
        writer.member(key, array: { writer in for element in self { element.writeElement(to: &writer) } })
    }
}

/// One of some words.
extension JSONValue where Self: RawRepresentable<String> {
    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, rawValue) }
}

extension JSONWriter {
    /// Writes a member that is an array of objects, one for each item.
    package mutating func member<Item>(
        _ key: String, objects items: [Item], _ members: (Item, inout JSONWriter) -> Void
    ) {
        member(key, array: { writer in for item in items { writer.object { members(item, &$0) } } })
    }
}
