// Any bytes as a proxy's response, in parts of a size given by the first byte: the tunnel opens after a complete header of
// success, before which interim responses may come, and nowhere else, consumes no byte after it, and gives the same result
// whatever the parts.

@testable import Upstreams

func fuzzHTTPTunnel(_ input: [UInt8]) {
    guard let size = input.first else { return }
    let reply = input.dropFirst()
    let whole = read(reply, inPartsOf: reply.count + 1)
    let parts = read(reply, inPartsOf: Int(size) + 1)
    precondition(whole.state == parts.state && whole.taken == parts.taken, "other parts are read otherwise")
    precondition(whole.taken <= 8_193, "more is taken than the limit")
    if whole.state == .isOpen {
        let header = reply.prefix(whole.taken)
        precondition(header.starts(with: "HTTP/1.".utf8), "not HTTP")
        let lines = header.split(separator: 10).filter { $0.starts(with: "HTTP/1.".utf8) }
        precondition(lines.contains { $0.dropFirst(9).first == UInt8(ascii: "2") }, "no success")
        precondition([49, 50].contains(header.dropFirst(9).first), "a final response before")
        precondition(header.last == 10 && [10, 13].contains(header.dropLast().last), "not behind an empty line")
    } else if whole.state == .isUnderWay {
        precondition(whole.taken == reply.count, "bytes are left while the header is under way")
    }
}

private func read(_ reply: ArraySlice<UInt8>, inPartsOf size: Int) -> (state: HTTPTunnel.State, taken: Int) {
    var tunnel = HTTPTunnel(to: "192.0.2.1:443")
    var rest = reply
    while !rest.isEmpty {
        let part = rest.prefix(size)
        let used = part.withUnsafeBytes { tunnel.receive($0) }
        precondition((0...part.count).contains(used), "more is taken than came")
        rest = rest.dropFirst(used)
        if used < part.count { break }
    }
    return (tunnel.state, reply.count - rest.count)
}
