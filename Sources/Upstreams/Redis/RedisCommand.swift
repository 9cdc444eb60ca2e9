import CHiredis

/// A command to Redis: its name and its arguments, any bytes.
struct RedisCommand: Equatable, Sendable {
    var arguments: [[UInt8]]

    init(_ arguments: [[UInt8]]) { self.arguments = arguments }

    init(_ name: String, _ arguments: [UInt8]...) { self.init([Array(name.utf8)] + arguments) }

    /// In the protocol's form; nil without memory.
    var encoded: [UInt8]? {
        let bytes = Array(arguments.joined())
        let lengths = arguments.map(\.count)
        var command: UnsafeMutablePointer<CChar>?
        let length = chiredis_format(&command, Int32(clamping: arguments.count), bytes, lengths)
        guard length >= 0, let command else { return nil }
        defer { redisFreeCommand(command) }
        return Array(UnsafeRawBufferPointer(start: command, count: Int(length)))
    }
}

extension RedisCommand {
    /// For logs; never with an argument, which may be a secret.
    var name: String { String(decoding: arguments.first ?? [], as: UTF8.self) }
}
