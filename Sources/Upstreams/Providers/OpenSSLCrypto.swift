import COpenSSL
public import HTTPDNS

/// The services' cryptography, implemented by OpenSSL's EVP interface. Safe to call from any thread.
public struct OpenSSLCrypto: Crypto {
    /// The most bytes of a text. HTTP bodies have at most 64 KiB; the limit keeps lengths in range of the C interface.
    private static let maximumLength = 1 << 20
    /// Bytes of GCM's authentication tag, which follows the ciphertext.
    private static let tagLength = 16
    /// The longest block of a cipher: by how much a ciphertext may exceed its plaintext, apart from the tag.
    private static let blockLength = 16

    public init() {}

    public func md5(_ bytes: [UInt8]) -> [UInt8]? { unsafe digest(of: bytes, EVP_md5()) }

    public func sha256(_ bytes: [UInt8]) -> [UInt8]? { unsafe digest(of: bytes, EVP_sha256()) }

    private func digest(of bytes: [UInt8], _ algorithm: OpaquePointer?) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard unsafe EVP_Digest(bytes, bytes.count, &digest, &length, algorithm, nil) == 1 else { return failed() }
        return Array(digest.prefix(Int(length)))
    }

    public func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length = 0
        guard !key.isEmpty,
            unsafe EVP_Q_mac(
                nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &code, code.count, &length) != nil
        else { return failed() }
        return Array(code.prefix(length))
    }

    public func randomBytes(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard count == 0 || Int32(exactly: count).map({ unsafe RAND_bytes(&bytes, $0) == 1 }) == true else {
            return failed()
        }
        return bytes
    }

    public func encrypt(_ plaintext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        transform(plaintext, cipher, isEncrypting: true, key, iv)
    }

    public func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        transform(ciphertext, cipher, isEncrypting: false, key, iv)
    }

    private func transform(
        _ text: [UInt8], _ cipher: PayloadCipher, isEncrypting: Bool, _ key: [UInt8], _ iv: [UInt8]
    ) -> [UInt8]? {
        guard key.count == cipher.keyLength, iv.count == cipher.ivLength else { return nil }
        return switch cipher {
        case .aes128CBC: unsafe run(EVP_aes_128_cbc(), text, isEncrypting: isEncrypting, key, iv)
        case .aes128GCM: unsafe run(EVP_aes_128_gcm(), text, isEncrypting: isEncrypting, key, iv, hasTag: true)
        // Single DES is in the legacy provider only. Triple DES with three equal keys is the same function.
        case .desECB: unsafe run(EVP_des_ede3_ecb(), text, isEncrypting: isEncrypting, key + key + key, iv)
        }
    }

    // MARK: Sealing

    static let sealingKeyLength = 32
    private static let nonceLength = 12
    /// Bytes by which a sealed text is longer than the text.
    static let sealingOverhead = nonceLength + tagLength
    /// Looked up once: to name a cipher costs as much as to use it. Nil where the library does not have it.
    private nonisolated(unsafe) static let sealing = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

    /// Seals a text by AES-256-GCM (NIST SP 800-38D) under `sealingKeyLength` bytes: a random nonce, ciphertext and tag.
    /// What is associated must be the same when it is opened. Nil where the library fails.
    func seal(_ text: [UInt8], key: [UInt8], associated: [UInt8]) -> [UInt8]? {
        guard let nonce = randomBytes(Self.nonceLength),
            let sealed = unsafe run(
                Self.sealing, text, isEncrypting: true, key, nonce, hasTag: true, associated: associated)
        else { return nil }
        return nonce + sealed
    }

    /// Nil unless `sealed` was sealed by this key, with these associated data.
    func open(_ sealed: [UInt8], key: [UInt8], associated: [UInt8]) -> [UInt8]? {
        unsafe run(
            Self.sealing, Array(sealed.dropFirst(Self.nonceLength)), isEncrypting: false, key,
            Array(sealed.prefix(Self.nonceLength)), hasTag: true, associated: associated)
    }

    /// Encrypts or decrypts a whole text; GCM's tag follows the ciphertext, and is also of what is associated. Nil without
    /// the cipher or memory, for a key or IV of another length, a wrong padding or tag, and a text above the limit.
    private func run(
        _ algorithm: OpaquePointer?, _ text: [UInt8], isEncrypting: Bool, _ key: [UInt8], _ iv: [UInt8],
        hasTag: Bool = false, associated: [UInt8] = []
    ) -> [UInt8]? {
        guard let algorithm = unsafe algorithm, text.count <= Self.maximumLength,
            unsafe key.count == Int(EVP_CIPHER_get_key_length(algorithm)),
            unsafe iv.count == Int(EVP_CIPHER_get_iv_length(algorithm)),
            !hasTag || isEncrypting || text.count >= Self.tagLength,
            let context = unsafe EVP_CIPHER_CTX_new()
        else { return failed() }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let isOpening = hasTag && !isEncrypting
        let input = isOpening ? Array(text.dropLast(Self.tagLength)) : text
        var tag = isOpening ? Array(text.suffix(Self.tagLength)) : [UInt8](repeating: 0, count: Self.tagLength)
        let tagLength = Int32(Self.tagLength)
        var (length, lastLength): (Int32, Int32) = (0, 0)
        var output = [UInt8](repeating: 0, count: input.count + Self.blockLength)
        var last = [UInt8](repeating: 0, count: Self.blockLength)
        guard unsafe EVP_CipherInit_ex2(context, algorithm, key, iv, isEncrypting ? 1 : 0, nil) == 1,
            unsafe !isOpening || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tagLength, &tag) == 1,
            unsafe associated.isEmpty
                || EVP_CipherUpdate(context, nil, &length, associated, Int32(clamping: associated.count)) == 1,
            unsafe EVP_CipherUpdate(context, &output, &length, input, Int32(input.count)) == 1,
            unsafe EVP_CipherFinal_ex(context, &last, &lastLength) == 1,
            unsafe !hasTag || isOpening
                || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tagLength, &tag) == 1
        else { return failed() }
        output.removeLast(output.count - Int(length))
        return output + last.prefix(Int(lastLength)) + (hasTag && isEncrypting ? tag : [])
    }

    /// Returns nil and clears OpenSSL's error queue; otherwise the next TLS call on this thread would find an error of
    /// another call.
    private func failed() -> [UInt8]? {
        ERR_clear_error()
        return nil
    }
}
