package import DNSWire
package import HTTPDNS

extension Configuration {
    /// One `[[account]]` of the HTTPDNS service that this server offers.
    package struct AccountEntry: SettingsTable {
        /// Unique, never empty.
        package var id = ""
        /// From `secret` or the file of `secret_file`; nil: requests need no signature.
        package var secret: Secret?
        /// Absolute; empty: none.
        package var secretFile = ""
        /// AliDNS's; empty: none.
        package var accessKeyID = ""
        package var encryption = PayloadEncryption.plain
        /// Fits `encryption`; nil without one.
        package var encryptionKey: Secret?
        /// Suffixes of the names that may be asked for; empty: all.
        package var names: [Name] = []
        /// Names resolved a day; 0: no limit.
        package var dailyLimit = 0
        /// Whether a request with valid credentials may name the client for which it is made.
        package var clientSubnet = false
        /// Whether credentials that can be read or changed on the path count over plain http, too.
        package var replayable = false

        package init() {}

        static let settings: [Setting<AccountEntry>] = [
            Setting(
                "id", \.id, .identifier("account", maximumLength: 64), default: "required", shapesAnswers: false,
                "The account's ID, as requests have it."),
            Setting(
                "secret", \.secret, .secret, shapesAnswers: false,
                "The key that signs requests, or the token of type tencent-https; empty asks for no signature."),
            Setting(
                "secret_file", \.secretFile, .path(), shapesAnswers: false,
                "A file that holds the secret, instead of secret."),
            Setting(
                "access_key_id", \.accessKeyID, .identifier("access key", maximumLength: 64), shapesAnswers: false,
                "The AccessKey ID of signed requests of type doh-json."),
            Setting(
                "encryption", \.encryption, .choice(), shapesAnswers: false,
                "The cipher of encrypted requests; with cbc also those with gcm are answered."),
            Setting(
                "encryption_key", \.encryptionKey, .secret, shapesAnswers: false, "The key of encrypted requests."),
            Setting(
                "names", \.names, .list(of: .suffix, "list of suffixes"), shapesAnswers: false,
                "Names that may be asked for; empty means all."),
            Setting(
                "daily_limit", \.dailyLimit, .integer(in: 0...Int.max), shapesAnswers: false,
                "Names resolved a day (UTC), for this account; 0 for no limit."),
            Setting(
                "client_subnet", \.clientSubnet, .boolean, shapesAnswers: false,
                "Whether requests with valid credentials may name the client for which they are made."),
            Setting(
                "replayable", \.replayable, .boolean, shapesAnswers: false,
                "Whether Tencent's credentials, which can be read or changed on the path, count over plain http too."),
        ]

        mutating func finish(at path: SettingPath, _ reading: Reading) {
            let place = path.appending(key: "id")
            if id.isEmpty, reading.isSound(place), !reading.isMisspelt(place) {
                reading.fail(place, "is missing; write one such as \"100001\"")
            }
            reading.complete(&secret, from: secretFile, in: path)
            checkKey(at: path, reading)
        }

        private func checkKey(at path: SettingPath, _ reading: Reading) {
            let place = path.appending(key: "encryption_key")
            guard reading.isSound(place), reading.isSound(path.appending(key: "encryption")) else { return }
            guard let key = encryptionKey?.value else {
                if encryption != .plain, !reading.isMisspelt(place) {
                    reading.fail(place, "is missing: encryption \(quoted(encryption.rawValue)) needs one")
                }
                return
            }
            if encryption == .plain { reading.warn(place, "has no effect: encryption is \"none\"") }
            if let problem = encryption.problem(of: key) {
                reading.fail(place, "\(problem) for encryption \(quoted(encryption.rawValue))")
            }
            // Unsigned, a changed ciphertext would tell by its errors what it holds.
            if encryption == .cbc, secret == nil, reading.isSound(path.appending(key: "secret")) {
                reading.fail(
                    path.appending(key: "secret"), "is missing: requests with encryption \"cbc\" must be signed")
            }
        }
    }
}

extension Configuration {
    /// No two accounts have one ID, and accounts need a listener.
    func checkAccounts(_ reading: Reading) {
        let path = SettingPath.root.appending(key: "account")
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
