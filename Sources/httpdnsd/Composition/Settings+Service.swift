import Configuration
import DNSResolver
import HTTPDNS
import Upstreams

// What the configuration says about encrypted DNS and HTTPDNS that is served, in the terms of the parts.

extension DesignatedResolver {
    /// Nil without a name, and without an encrypted listener.
    init?(_ listen: Configuration.Listen) {
        guard let name = listen.name else { return nil }
        self.init(
            name: name, addresses: listen.advertisedAddresses, tls: listen.tls.first?.port,
            https: listen.https.first.map { ($0.port, listen.httpsPath) })
    }
}

extension ServiceAccount {
    init(_ entry: Configuration.AccountEntry) {
        self.init(
            id: entry.id, secret: entry.secret, accessKeyID: entry.accessKeyID, encryption: .init(entry),
            names: entry.names, namesClients: entry.clientSubnet, isReplayable: entry.replayable)
    }
}

extension ServiceAccount.Encryption {
    fileprivate init(_ entry: Configuration.AccountEntry) {
        guard let key = entry.encryptionKey else {
            self = .none
            return
        }
        self =
            switch entry.encryption {
            case .plain: .none
            case .cbc: .cbc(key)
            case .gcm: .gcm(key)
            case .des: .des(key)
            case .aes: .aes(key)
            }
    }
}

extension Configuration.Listen {
    /// Whether a request over HTTP can come to this server.
    var servesHTTP: Bool { !https.isEmpty || !httpdns.isEmpty }
}

extension LoopMark {
    /// That of this process; nil without random bytes.
    static let ofProcess = LoopMark(OpenSSLCrypto())
}
