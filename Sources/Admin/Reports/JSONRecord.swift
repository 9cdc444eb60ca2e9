public import HTTPDNS

/// A report of the control API. Its members are the properties that are marked with `@Member`, in their order.
public protocol JSONRecord: Equatable, JSONValue {
    /// Writes all members, and what follows from them.
    func writeMembers(to writer: inout JSONWriter)
}

extension JSONRecord {
    /// The report as one JSON object.
    public var json: String { JSONWriter.text(of: self) }

    public func write(to writer: inout JSONWriter) { writer.object(writeMembers) }

    public func writeMembers(to writer: inout JSONWriter) { writeOwnMembers(to: &writer) }

    func writeOwnMembers(to writer: inout JSONWriter) { for member in members { member.write(to: &writer) } }

    private var members: [any ReportMember] {
        Mirror(reflecting: self).children.compactMap { $0.value as? any ReportMember }
    }
}

/// A property of a report that is a member of its JSON object, by its key.
@propertyWrapper
public struct Member<Value: JSONValue & Equatable>: Equatable, Sendable {
    let key: String
    /// With which it is left out; nil: with none.
    private let omitted: Value?
    /// For true and for false, of a flag that is a word in JSON; else empty.
    private let words: [String]
    public var wrappedValue: Value

    /// - Parameter ifAny: whether it is left out where it still has the value with which a report begins.
    public init(wrappedValue: Value, _ key: String, ifAny: Bool = false) {
        (self.wrappedValue, self.key, words) = (wrappedValue, key, [])
        omitted = ifAny ? wrappedValue : nil
    }

    public init(_ key: String, ifAny: Bool = false) where Value: ExpressibleByNilLiteral {
        self.init(wrappedValue: nil, key, ifAny: ifAny)
    }

    public init(wrappedValue: Value, _ key: String, _ yes: String, _ no: String) where Value == Bool {
        (self.wrappedValue, self.key, omitted, words) = (wrappedValue, key, nil, [yes, no])
    }
}

/// A member of any kind.
private protocol ReportMember {
    func write(to writer: inout JSONWriter)
}

extension Member: ReportMember {
    fileprivate func write(to writer: inout JSONWriter) {
        let value = wrappedValue
        if let omitted, omitted == value { return }
        if !words.isEmpty, let flag = value as? Bool { return writer.member(key, flag ? words[0] : words[1]) }
        writer.member(key, value)
    }
}

extension JSONWriter {
    /// Writes a member that is an array of objects, one for each item.
    public mutating func member<Item>(
        _ key: String, objects items: [Item], _ members: (Item, inout JSONWriter) -> Void
    ) {
        member(key, array: { writer in for item in items { writer.object { members(item, &$0) } } })
    }
}
