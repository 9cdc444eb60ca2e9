// Any bytes as what Redis sends, in parts of a size given by the first byte: the replies are the same whatever the
// parts, and none is longer than the bytes that came.

@testable import Upstreams

func fuzzRedisReply(_ input: [UInt8]) {
    guard let size = input.first else { return }
    let bytes = input.dropFirst()
    let whole = replies(in: bytes, partsOf: bytes.count + 1)
    let parts = replies(in: bytes, partsOf: Int(size) + 1)
    // Only a limit may be met at another place.
    if !whole.isDamaged, !parts.isDamaged {
        precondition(whole.replies == parts.replies, "other parts are read otherwise")
    }
    precondition(whole.replies.allSatisfy { length(of: $0) <= bytes.count }, "a reply is longer than what came")
}

private func replies(in bytes: ArraySlice<UInt8>, partsOf size: Int) -> (replies: [RedisReply], isDamaged: Bool) {
    guard var reader = RedisReader() else { return ([], true) }
    var (found, rest) = ([RedisReply](), bytes)
    while !rest.isEmpty {
        do {
            try rest.prefix(size).withUnsafeBytes { bytes in try reader.receive(bytes) { found.append($0) } }
        } catch {
            return (found, true)
        }
        rest = rest.dropFirst(size)
    }
    return (found, false)
}

private func length(of reply: RedisReply) -> Int {
    switch reply {
    case .status(let text), .error(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    case .integer, .nothing: 0
    case .list(let parts): parts.reduce(0) { $0 + length(of: $1) }
    }
}
