import DNSWire
import Platform

/// What identifies a retransmitted datagram: client address and port, server address, and all of its bytes. With the same ID
/// and question a client may ask for another response: without EDNS, say, or with CD.
struct DatagramIdentity: Hashable {
    private let client: SocketAddress
    private let server: SocketAddress
    private let local: UInt64
    private let localEnd: UInt64
    private let id: UInt16
    private let message: [UInt8]
    private let questionLength: Int

    /// The question's bytes, with the client's letter case.
    private var question: ArraySlice<UInt8> { message[Header.length..<(Header.length + questionLength)] }

    /// Hashes the question's bytes eight at a time: a call of the hasher costs more than combining them.
    func hash(into hasher: inout Hasher) {
        hasher.combine(client.low)
        var word = UInt64(client.port) << 16 | UInt64(id)
        var left = 4
        for byte in question {
            if left == 0 {
                hasher.combine(word)
                (word, left) = (0, 8)
            }
            word = word << 8 | UInt64(byte)
            left -= 1
        }
        hasher.combine(word)
    }

    init(_ query: Query, _ message: [UInt8], from client: SocketAddress, to path: DatagramPath) {
        self.client = client
        server = path.socket.address
        (local, localEnd) = path.local
        id = query.id
        self.message = message
        questionLength = query.questionLength
    }
}
