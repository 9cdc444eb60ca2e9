/// A value of JSON.
enum JSON: Decodable {
    case null
    case bool(Bool)
    case number(Int)
    case text(String)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Int.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let array = try? value.decode([JSON].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSON].self))
        }
    }

    subscript(key: String) -> JSON {
        if case .object(let members) = self { members[key] ?? .null } else { .null }
    }

    var array: [JSON] { if case .array(let items) = self { items } else { [] } }
    var text: String { if case .text(let text) = self { text } else { "" } }
    var number: Int? { if case .number(let number) = self { number } else { nil } }
    var isTrue: Bool { if case .bool(true) = self { true } else { false } }
    var isNull: Bool { if case .null = self { true } else { false } }
    var texts: [String] { array.map(\.text) }
}
