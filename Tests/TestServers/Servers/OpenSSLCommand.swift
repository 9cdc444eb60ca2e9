import Foundation
import TestSupport

/// Digests and ciphers by the `openssl` command, so that a fake does not verify with the code under test.
///
/// The command has no GCM, which is composed here from AES in ECB and CTR mode.
enum OpenSSLCommand {
    /// In hexadecimal digits.
    static func hmacSHA256(_ text: String, hexadecimalKey key: String) throws -> String {
        let directory = try TemporaryDirectory()
        let file = try directory.write(text, to: "text")
        let output = try ChildProcess.succeed([
            "openssl", "dgst", "-sha256", "-r", "-mac", "HMAC", "-macopt", "hexkey:\(key)", file,
        ])
        return String(output.prefix(64))
    }

    enum Direction: String {
        case encrypt = "-e"
        case decrypt = "-d"
    }

    /// - Parameter cipher: its name in the command, such as `aes-128-cbc`.
    /// - Throws: also for an invalid padding.
    static func transform(
        _ bytes: [UInt8], _ direction: Direction, _ cipher: String, key: [UInt8], iv: [UInt8] = [],
        isPadded: Bool = true
    ) throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        let (input, output) = (directory.path + "/in", directory.path + "/out")
        try Data(bytes).write(to: URL(fileURLWithPath: input))
        var arguments = ["openssl", "enc", direction.rawValue, "-\(cipher)", "-K", hexadecimal(key)]
        if !iv.isEmpty { arguments += ["-iv", hexadecimal(iv)] }
        if !isPadded { arguments.append("-nopad") }
        try ChildProcess.succeed(arguments + ["-in", input, "-out", output])
        return Array(try Data(contentsOf: URL(fileURLWithPath: output)))
    }

    /// Ciphertext and tag (NIST SP 800-38D section 7.1), for a nonce of 12 bytes and no additional data.
    static func sealGCM(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
        let ciphertext = try counterMode(plaintext, key: key, nonce: nonce)
        return ciphertext + (try tag(ciphertext, key: key, nonce: nonce))
    }

    /// The plaintext; throws for a wrong tag.
    static func openGCM(_ bytes: [UInt8], key: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
        guard bytes.count >= 16 else { throw TestFailure("no tag") }
        let ciphertext = Array(bytes.dropLast(16))
        guard try tag(ciphertext, key: key, nonce: nonce) == bytes.suffix(16) else { throw TestFailure("wrong tag") }
        return try counterMode(ciphertext, key: key, nonce: nonce)
    }

    private static func counterMode(_ bytes: [UInt8], key: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
        try transform(bytes, .encrypt, "aes-128-ctr", key: key, iv: nonce + [0, 0, 0, 2])
    }

    private static func tag(_ ciphertext: [UInt8], key: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
        let zeros = [UInt8](repeating: 0, count: 16)
        let blocks = try transform(
            zeros + nonce + [0, 0, 0, 1], .encrypt, "aes-128-ecb", key: key, isPadded: false)
        let hashKey = number(blocks.prefix(16))
        var hash: UInt128 = 0
        var padded = ciphertext + [UInt8](repeating: 0, count: (16 - ciphertext.count % 16) % 16)
        // The lengths in bits, of the additional data and of the ciphertext.
        padded += zeros.prefix(8)
        padded += (0..<8).map { UInt8(truncatingIfNeeded: UInt64(ciphertext.count * 8) >> UInt64(56 - 8 * $0)) }
        for start in stride(from: 0, to: padded.count, by: 16) {
            hash = product(hash ^ number(padded[start..<start + 16]), hashKey)
        }
        let masked = hash ^ number(blocks.suffix(16))
        return (0..<16).map { UInt8(truncatingIfNeeded: masked >> UInt128(120 - 8 * $0)) }
    }

    private static func number(_ block: ArraySlice<UInt8>) -> UInt128 { block.reduce(0) { $0 << 8 | UInt128($1) } }

    /// The product in GF(2^128) (section 6.3); the first bit is the most significant.
    private static func product(_ left: UInt128, _ right: UInt128) -> UInt128 {
        var (result, factor): (UInt128, UInt128) = (0, right)
        for bit in 0..<128 {
            if left >> UInt128(127 - bit) & 1 == 1 { result ^= factor }
            factor = factor & 1 == 1 ? factor >> 1 ^ 0xe1 << 120 : factor >> 1
        }
        return result
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// Nil unless the text is hexadecimal digits, two per byte.
    static func bytes(hexadecimal text: String) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
