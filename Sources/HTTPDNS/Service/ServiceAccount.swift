package import DNSWire

/// An account of this server's own HTTPDNS service.
package struct ServiceAccount: Sendable {
    package let id: String
    /// The key that signs requests, and the token of Tencent's https form; nil: requests need no signature.
    package let secret: Secret?
    /// The AccessKey ID of AliDNS's form; empty: none.
    package let accessKeyID: String
    /// Encrypts requests and replies, Aliyun's with GCM where it is for CBC; nil: they are plain.
    package let box: PayloadBox?
    /// Suffixes of the names that may be asked for; empty: all.
    package let names: [Name]
    /// Whether a request with valid credentials may name the client for which it is made.
    package let namesClients: Bool
    /// Whether what anything on the path can read or change counts as a credential.
    package let isReplayable: Bool

    package init(
        id: String, secret: Secret? = nil, accessKeyID: String = "", box: PayloadBox? = nil,
        names: [Name] = [], namesClients: Bool = false, isReplayable: Bool = false
    ) {
        self.id = id
        self.secret = secret
        self.accessKeyID = accessKeyID
        self.box = box
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

/// Whether two texts are equal, in a time that depends on their lengths alone.
func areEqual(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    var differences: UInt8 = 0
    for index in one.indices { differences |= one[index] ^ other[index] }
    return differences == 0
}
