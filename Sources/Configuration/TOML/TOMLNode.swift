/// A value of a TOML text, and where it stands.
struct TOMLNode {
    let value: Value
    /// Of its key, or of the value itself in a list; counted from 1.
    let line: Int

    enum Value {
        case string(String)
        /// One of the values that a variable, standing alone in a list, has.
        case variable(String, of: String)
        case integer(Int)
        case float(Double)
        case boolean(Bool)
        /// A date, a time or both, as it is written: no key of the schema takes one.
        case date(String)
        case array([TOMLNode])
        case table(TOMLTable)
    }

    /// What to call it in "must be ..., not ...".
    var kindName: String {
        switch value {
        case .string, .variable: "a string"
        case .integer: "an integer"
        case .float: "a number with decimals"
        case .boolean: "true or false"
        case .date: "a date or time"
        case .array: "a list"
        case .table: "a table"
        }
    }

    /// The node at the path, or the nearest one around it; nil when that is the whole text.
    func nearest(to path: SettingPath) -> TOMLNode? {
        var found: TOMLNode?
        for part in path.parts {
            switch (part, (found ?? self).value) {
            case (.key(let key), .table(let table)):
                guard let next = table[key] else { return found }
                found = next
            case (.entry(let number), .array(let nodes)) where nodes.indices.contains(number - 1):
                found = nodes[number - 1]
            default: return found
            }
        }
        return found
    }
}
