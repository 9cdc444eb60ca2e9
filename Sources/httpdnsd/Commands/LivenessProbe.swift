import DNSWire
import Glibc
import Platform

/// Asks a DNS server for its version over UDP, up to three times; any reply to that question is a sign of life.
struct LivenessProbe {
    /// When a try is given up, in milliseconds from its start: 1.7 s in all.
    private static let waits: [Int32] = [300, 500, 900]

    private let address: SocketAddress

    init(_ address: SocketAddress) { self.address = address }

    /// Whether a reply came. Blocks.
    func succeeds() throws(SystemError) -> Bool {
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        let number = socket(family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw .last("make a socket") }
        let descriptor = Descriptor(owning: number)
        guard address.withSockaddr({ connect(descriptor.number, $0, $1) }) == 0 else { throw .last("ask \(address)") }
        for wait in Self.waits {
            let id = UInt16.random(in: .min ... .max)
            let question = Self.query(id)
            _ = send(descriptor.number, question, question.count, 0)
            if Self.receive(descriptor.number, replyTo: question, within: wait) { return true }
        }
        return false
    }

    /// `version.bind. CH TXT`
    private static func query(_ id: UInt16) -> [UInt8] {
        var builder = MessageBuilder(id: id, flags: [])
        let name = (try? Name("version.bind")) ?? .root
        builder.append(Question(name: name, type: .txt, class: .chaos))
        return builder.bytes
    }

    /// Whether a reply comes within so many milliseconds; a refused connection ends the try at once.
    private static func receive(_ socket: Int32, replyTo query: [UInt8], within wait: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 512)
        var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        let end = ContinuousClock.now + .milliseconds(Int64(wait))
        while ContinuousClock.now < end {
            let left = (end - ContinuousClock.now) / .milliseconds(1)
            guard poll(&entry, 1, Int32(left.rounded(.up))) > 0 else { return false }
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0 {
                // No server listens there now; perhaps in the next try.
                usleep(UInt32(max(0, (end - ContinuousClock.now) / .microseconds(1))))
                return false
            }
            // The ID, the QR bit, and the question.
            if count >= query.count, buffer[0] == query[0], buffer[1] == query[1], buffer[2] & 0x80 != 0,
                buffer[12..<query.count] == query[12...]
            {
                return true
            }
        }
        return false
    }
}
