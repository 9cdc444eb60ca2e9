/// A reply of Redis in its protocol's second version (RESP2), or a part of one.
enum RedisReply: Equatable, Sendable {
    /// A command was carried out; mostly `OK`.
    case status(String)
    /// A command was refused: a code in capitals, and a text.
    case error(String)
    case integer(Int64)
    case bytes([UInt8])
    /// There is no value.
    case nothing
    case list([RedisReply])

    /// Why the command was refused; nil when it was not.
    var refusal: String? { if case .error(let text) = self { text } else { nil } }
}
