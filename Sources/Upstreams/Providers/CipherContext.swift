import COpenSSL
import HTTPDNS

/// OpenSSL's cipher context for encrypting or decrypting one text.
@safe struct CipherContext: ~Copyable {
    enum Direction: Int32 {
        case decrypt = 0
        case encrypt = 1
    }

    /// The most bytes of a text. HTTP bodies have at most 64 KiB; the limit keeps lengths in range of the C interface.
    static let maximumLength = 1 << 20
    /// Bytes of GCM's authentication tag, which follows the ciphertext.
    private static let tagLength = 16
    /// The longest block of a cipher: by how much a ciphertext may exceed its plaintext, apart from the tag.
    private static let blockLength = 16

    private let context: OpaquePointer
    private let cipher: PayloadCipher
    private let direction: Direction

    /// Nil without memory.
    init?(_ cipher: PayloadCipher, _ direction: Direction) {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        unsafe self.context = unsafe context
        self.cipher = cipher
        self.direction = direction
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Encrypts or decrypts a whole text. Nil when the library does not have the cipher, when the key or IV has the
    /// wrong length or the padding or tag is wrong, and for a text above the limit.
    consuming func transform(_ text: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        guard text.count <= Self.maximumLength, start(key, iv) else { return nil }
        let hasTag = cipher == .aes128GCM
        var input = text
        if hasTag, direction == .decrypt {
            guard text.count >= Self.tagLength else { return nil }
            var tag = Array(text.suffix(Self.tagLength))
            input.removeLast(Self.tagLength)
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), &tag) == 1 else {
                return nil
            }
        }
        var output = [UInt8](repeating: 0, count: input.count + Self.blockLength + Self.tagLength)
        guard let length = update(input, &output), let last = finish(&output, at: length) else { return nil }
        output.removeLast(output.count - length - last)
        guard hasTag, direction == .encrypt else { return output }
        var tag = [UInt8](repeating: 0, count: Self.tagLength)
        guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), &tag) == 1 else {
            return nil
        }
        return output + tag
    }

    private borrowing func start(_ key: [UInt8], _ iv: [UInt8]) -> Bool {
        guard key.count == cipher.keyLength, iv.count == cipher.ivLength else { return false }
        let (algorithm, key) =
            switch cipher {
            case .aes128CBC: unsafe (EVP_aes_128_cbc(), key)
            case .aes128GCM: unsafe (EVP_aes_128_gcm(), key)
            // Single DES is in the legacy provider only. Triple DES with three equal keys is the same function.
            case .desECB: unsafe (EVP_des_ede3_ecb(), key + key + key)
            }
        return unsafe EVP_CipherInit_ex2(context, algorithm, key, iv, direction.rawValue, nil) == 1
    }

    /// - Returns: the number of bytes written.
    private borrowing func update(_ input: [UInt8], _ output: inout [UInt8]) -> Int? {
        var length: Int32 = 0
        guard unsafe EVP_CipherUpdate(context, &output, &length, input, Int32(input.count)) == 1 else { return nil }
        return Int(length)
    }

    /// Writes the last block, or checks padding and tag.
    private borrowing func finish(_ output: inout [UInt8], at offset: Int) -> Int? {
        var length: Int32 = 0
        let succeeded = unsafe output.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, buffer.count - offset >= Self.blockLength else { return false }
            return unsafe EVP_CipherFinal_ex(context, start + offset, &length) == 1
        }
        return succeeded ? Int(length) : nil
    }
}
