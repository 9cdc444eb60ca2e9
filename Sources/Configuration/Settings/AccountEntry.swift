public import DNSWire
public import HTTPDNS

extension Configuration {
    /// One `[[account]]` of the HTTPDNS service that this server offers.
    public struct AccountEntry: SettingsTable {
        /// Unique, never empty.
        @Setting("id", .identifier("account", maximumLength: 64), default: "required") public var id = ""
        /// From `secret` or the file of `secret_file`; nil: requests need no signature.
        @Setting("secret", .secret) public var secret: Secret?
        /// Absolute; empty: none.
        @Setting("secret_file", .path()) public var secretFile = ""
        /// AliDNS's; empty: none.
        @Setting("access_key_id", .identifier("access key", maximumLength: 64)) public var accessKeyID = ""
        @Setting("encryption", .choice()) public var encryption = PayloadEncryption.plain
        /// Fits `encryption`; nil without one.
        @Setting("encryption_key", .secret) public var encryptionKey: Secret?
        /// Suffixes of the names that may be asked for; empty: all.
        @Setting("names", .list(of: .suffix, "list of suffixes")) public var names: [Name] = []
        /// Names resolved a day; 0: no limit.
        @Setting("daily_limit", .integer(in: 0...Int.max)) public var dailyLimit = 0
        /// Whether a request with valid credentials may name the client for which it is made.
        @Setting("client_subnet", .boolean) public var clientSubnet = false
        /// Whether credentials that can be read or changed on the path count over plain http, too.
        @Setting("replayable", .boolean) public var replayable = false

        mutating func finish(_ keys: TableKeys) {
            if id.isEmpty, keys.isUsable("id") { keys.fail("id", "is missing; write one such as \"100001\"") }
            keys.complete(&secret, from: secretFile)
            checkKey(keys)
        }

        private func checkKey(_ keys: TableKeys) {
            guard keys.isSound("encryption_key"), keys.isSound("encryption") else { return }
            guard let key = encryptionKey else {
                if encryption != .plain, keys.isUsable("encryption_key") {
                    keys.fail("encryption_key", "is missing: encryption \(quoted(encryption.rawValue)) needs one")
                }
                return
            }
            encryption.check(key, keys)
            // Unsigned, a changed ciphertext would tell by its errors what it holds.
            if encryption == .cbc, secret == nil, keys.isSound("secret") {
                keys.fail("secret", "is missing: requests with encryption \"cbc\" must be signed")
            }
        }
    }
}

extension Configuration {
    /// No two accounts have one ID, and accounts need a listener.
    func checkAccounts(_ reading: Reading) {
        let path = SettingPath("account")
        for (index, account) in accounts.enumerated() where !account.id.isEmpty {
            let place = path.appending(entry: index + 1).appending(key: "id")
            if accounts[..<index].contains(where: { $0.id == account.id }) {
                reading.fail(place, "\(quoted(account.id)) is the ID of another account")
            }
            if let secret = account.secret, accounts[..<index].contains(where: { $0.secret == secret }) {
                reading.warn(place, "has the secret of another account: as a token it would be that one's")
            }
        }
        if !accounts.isEmpty, listen.httpdns.isEmpty, listen.https.isEmpty {
            reading.warn(path, "has no effect: neither listen.https nor listen.httpdns has an address")
        }
    }
}
