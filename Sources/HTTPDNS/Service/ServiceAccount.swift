package import DNSWire

/// An account of this server's own HTTPDNS service.
package struct ServiceAccount: Sendable {
    /// The encryption of requests and replies, with its key.
    package enum Encryption: Sendable {
        case none
        /// Aliyun's v2: AES-128-CBC, and GCM, with a key of 32 hexadecimal digits.
        case cbc(Secret)
        /// The same with GCM alone.
        case gcm(Secret)
        /// Tencent's, with the first 8 bytes of the key's text.
        case des(Secret)
        /// Tencent's, with the 16 bytes of the key's text.
        case aes(Secret)
    }

    package let id: String
    /// The key that signs requests, and the token of Tencent's https form; nil: requests need no signature.
    package let secret: Secret?
    /// The AccessKey ID of AliDNS's form; empty: none.
    package let accessKeyID: String
    package let encryption: Encryption
    /// Suffixes of the names that may be asked for; empty: all.
    package let names: [Name]
    /// Whether a request with valid credentials may name the client for which it is made.
    package let namesClients: Bool
    /// Whether what anything on the path can read or change counts as a credential.
    package let isReplayable: Bool

    package init(
        id: String, secret: Secret? = nil, accessKeyID: String = "", encryption: Encryption = .none,
        names: [Name] = [], namesClients: Bool = false, isReplayable: Bool = false
    ) {
        self.id = id
        self.secret = secret
        self.accessKeyID = accessKeyID
        self.encryption = encryption
        self.names = names
        self.namesClients = namesClients
        self.isReplayable = isReplayable
    }

    func allows(_ name: Name) -> Bool {
        guard !names.isEmpty else { return true }
        var suffix: NameSuffix? = NameSuffix(name)
        while let current = suffix {
            if names.contains(where: { NameSuffix($0) == current }) { return true }
            suffix = current.parent
        }
        return false
    }
}

/// The accounts, by ID and by token.
struct ServiceAccounts: Sendable {
    private let byID: [String: ServiceAccount]

    init(_ accounts: [ServiceAccount]) { byID = Dictionary(accounts.map { ($0.id, $0) }) { first, _ in first } }

    subscript(id: String) -> ServiceAccount? { byID[id] }

    /// The account with this token. All are compared: the time taken does not depend on which one it is.
    func account(withToken token: String) -> ServiceAccount? {
        byID.values.reduce(nil) { found, account in
            guard let secret = account.secret?.value else { return found }
            return areEqual(secret, token) ? account : found
        }
    }
}

/// Whether two texts are equal, in a time that depends on their lengths alone.
func areEqual(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    var differences: UInt8 = 0
    for index in one.indices { differences |= one[index] ^ other[index] }
    return differences == 0
}
