import TestSupport

/// The fields of a message of protocol buffers (https://protobuf.dev/programming-guides/encoding/) by their numbers, of which
/// each comes once.
struct ProtobufFields {
    private(set) var numbers: [UInt64: UInt64] = [:]
    private(set) var bytes: [UInt64: [UInt8]] = [:]

    init(_ message: [UInt8]) throws {
        var rest = message[...]
        func number() throws -> UInt64 {
            var (value, shift): (UInt64, UInt64) = (0, 0)
            while let byte = rest.popFirst() {
                value |= UInt64(byte & 0x7f) << shift
                if byte < 0x80 { return value }
                shift += 7
            }
            throw TestFailure("a number is cut off")
        }
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        while !rest.isEmpty {
            let key = try number()
            switch key & 7 {
            case 0: numbers[key >> 3] = try number()
            case 2: bytes[key >> 3] = take(Int(try number()))
            case 5: numbers[key >> 3] = take(4).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            default: throw TestFailure("a field of another type")
            }
        }
    }
}
