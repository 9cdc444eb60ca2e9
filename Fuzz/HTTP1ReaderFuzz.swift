// Any bytes from an HTTP/1.1 client: the requests are the same whatever parts they come in, each is within its limits,
// nothing is read after one that is refused, and the reader holds no more than one request and the last part.

@testable import DNSServer

/// The first byte is the size of the parts.
func fuzzHTTP1Reader(_ input: [UInt8]) {
    var script = Script(input)
    let size = script.number() + 1
    let bytes = script.bytes(input.count)
    let whole = read(bytes, inPartsOf: bytes.count + 1)
    let parts = read(bytes, inPartsOf: size)
    precondition(whole.targets == parts.targets && whole.bodies == parts.bodies, "other parts are read otherwise")
    // Too long, a request may be refused before it is found wrong.
    precondition((whole.refusal == nil) == (parts.refusal == nil), "other parts are refused")
}

private func read(
    _ bytes: [UInt8], inPartsOf size: Int
) -> (targets: [[UInt8]], bodies: [[UInt8]], refusal: HTTPServerResponse.Status?) {
    var reader = HTTP1Reader()
    var (targets, bodies): ([[UInt8]], [[UInt8]]) = ([], [])
    var rest = bytes[...]
    while !rest.isEmpty {
        reader.append(rest.prefix(size))
        rest = rest.dropFirst(size)
        reading: while true {
            switch reader.next() {
            case .incomplete: break reading
            case .refused(let status): return (targets, bodies, status)
            case .request(let request, _):
                precondition(request.target.first == UInt8(ascii: "/"), "a target without a slash")
                precondition(request.target.allSatisfy { (0x21...0x7e).contains($0) }, "a target that is not printable")
                precondition(request.body.count <= HTTPServerLimits.body, "a body over its limit")
                targets.append(request.target)
                bodies.append(request.body)
            }
        }
        precondition(
            size > bytes.count || reader.count <= HTTPServerLimits.header + HTTPServerLimits.body + size + 4,
            "more is held than a request")
    }
    return (targets, bodies, nil)
}
