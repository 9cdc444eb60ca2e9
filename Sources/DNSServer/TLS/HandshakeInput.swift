import COpenSSL

/// What a client has sent before its handshake was done: how much, and how long its ClientHello is.
///
/// OpenSSL takes memory for the length that a ClientHello claims to have, up to 128 KiB, and 34 KiB for the beginning of
/// one. So it gets none before it is whole, and none that claims to be long: with the key shares and tickets of all kinds
/// a client comes to 5 KiB. A second one, after a HelloRetryRequest (RFC 8446 section 4.1.4), is read likewise.
struct HandshakeInput {
    /// What is done with what has come so far.
    enum Verdict: Equatable {
        /// The ClientHello is not whole.
        case incomplete
        /// OpenSSL decides.
        case passes
        case isTooLong
    }

    /// The most bytes of a client until its handshake is done.
    static let most = 16 << 10
    /// The same where clients are asked for a certificate, whose chain has as many bytes at most.
    static let mostWithCertificate = 64 << 10

    private static let handshake: UInt8 = 22
    private static let clientHello: UInt8 = 1

    /// The header of a record (RFC 8446 section 5.1), and how many bytes of it and of its fragment are missing.
    private var (type, missing, fragment): (UInt8, Int, Int) = (0, 5, 0)
    /// The header of a handshake message (section 4), and how many bytes of it and of the message are missing.
    private var (message, messageMissing, messageLength): (UInt8, Int, Int) = (0, 4, 0)
    /// Nil: what follows is not read, since it is encrypted, or no TLS.
    private var verdict: Verdict? = .incomplete
    /// How many bytes have come.
    private(set) var count = 0

    /// Reads on.
    ///
    /// - Parameter version: the one that the handshake has chosen; 0 before it has.
    mutating func append(_ bytes: Span<UInt8>, version: Int32 = 0) -> Verdict {
        count += bytes.count
        // In TLS 1.2 the records after the ClientHello may be encrypted, and no second one is taken.
        if verdict == .passes, version != 0, version < TLS1_3_VERSION { verdict = nil }
        for index in bytes.indices where verdict != nil && verdict != .isTooLong { read(bytes[index]) }
        return verdict ?? .passes
    }

    private mutating func read(_ byte: UInt8) {
        if missing > 0 {
            if missing == 5 {
                type = byte
                // Not even OpenSSL reads on behind it; or SSL 2, which has no second ClientHello.
                if !(20...23).contains(byte) { verdict = nil }
                if byte != Self.handshake { verdict = verdict.map { _ in .passes } }
            }
            fragment = missing < 3 ? fragment << 8 | Int(byte) : 0
            missing -= 1
        } else {
            fragment -= 1
            if type == Self.handshake { readMessage(byte) }
        }
        if missing == 0, fragment == 0 { missing = 5 }
    }

    private mutating func readMessage(_ byte: UInt8) {
        if messageMissing > 0 {
            if messageMissing == 4 { message = byte }
            messageLength = messageMissing < 4 ? messageLength << 8 | Int(byte) : 0
            messageMissing -= 1
            guard messageMissing == 0 else { return }
            if message == Self.clientHello, messageLength > Self.most { return verdict = .isTooLong }
        } else {
            messageLength -= 1
        }
        guard messageLength == 0 else { return }
        messageMissing = 4
        verdict = .passes
    }
}
