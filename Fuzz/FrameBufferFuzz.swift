// Any bytes from a TCP client, in any parts: the messages are those that the framing defines, in order, and the buffer
// holds no more than the rest.

@testable import DNSServer

func fuzzFrameBuffer(_ input: [UInt8]) {
    var script = Script(input)
    var buffer = StreamBuffer()
    var stream: [UInt8] = []
    var taken = 0
    while let size = script.next() {
        let part = script.bytes(Int(size) * 4)
        stream += part
        buffer.append(part[...])
        reading: while true {
            let hasMessage = buffer.hasMessage
            switch buffer.next() {
            case .message(let message):
                precondition(hasMessage, "a message that was not announced")
                let length = Int(stream[taken]) << 8 | Int(stream[taken + 1])
                precondition(length == message.count && length >= 12, "another length")
                precondition(message[...] == stream[(taken + 2)..<(taken + 2 + length)], "another message")
                taken += 2 + length
            case .incomplete:
                precondition(!hasMessage, "a message was announced")
                break reading
            case .malformed:
                precondition(hasMessage, "an end that was not announced")
                return
            }
        }
        precondition(buffer.count == stream.count - taken, "bytes are lost, or come twice")
    }
}
