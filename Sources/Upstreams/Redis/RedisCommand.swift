/// A command to Redis: its name and its arguments, any bytes.
struct RedisCommand: Equatable, Sendable {
    /// For logs too; never with an argument, which may be a secret.
    let name: String
    let arguments: [[UInt8]]

    init(_ name: String, _ arguments: [[UInt8]]) {
        self.name = name
        self.arguments = arguments
    }

    init(_ name: String, _ arguments: [UInt8]...) { self.init(name, arguments) }

    /// Adds it in the protocol's form: an array of byte strings. Thousands may be sent in a second: nothing is allocated.
    func append(to bytes: inout [UInt8]) {
        Self.append(UInt8(ascii: "*"), arguments.count + 1, to: &bytes)
        Self.append(UInt8(ascii: "$"), name.utf8.count, to: &bytes)
        bytes += name.utf8
        for argument in arguments {
            Self.endLine(&bytes)
            Self.append(UInt8(ascii: "$"), argument.count, to: &bytes)
            bytes += argument
        }
        Self.endLine(&bytes)
    }

    /// The head of an array or a string: its kind and its count.
    private static func append(_ kind: UInt8, _ count: Int, to bytes: inout [UInt8]) {
        bytes.append(kind)
        append(decimal: count, to: &bytes)
        endLine(&bytes)
    }

    private static func endLine(_ bytes: inout [UInt8]) {
        bytes.append(13)
        bytes.append(10)
    }

    private static func append(decimal number: Int, to bytes: inout [UInt8]) {
        if number > 9 { append(decimal: number / 10, to: &bytes) }
        bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}
