import Configuration
import HTTPDNS
import Platform
import Upstreams

/// What a machine is, for policies that are for some machines only.
enum PolicyMachine {
    /// Of systemd; the same as long as the system is installed.
    private static let file = "/etc/machine-id"

    /// The machine's place among all, 0 to 99: the same at every start and for every policy, so that a share which grows
    /// keeps those that are in it.
    static let percentile = percentile(of: identity)

    /// Where there is no such file, as in containers, the host's name.
    private static var identity: [UInt8] {
        let id = (try? readFile(file, limit: 64)) ?? []
        return id.isEmpty ? Array(hostName().utf8) : id
    }

    /// By a digest, so that the identity itself is not used for anything.
    static func percentile(of identity: [UInt8]) -> Int {
        let digest = OpenSSLCrypto().sha256(Array("httpdnsd policy share ".utf8) + identity) ?? []
        return digest.prefix(4).reduce(0) { ($0 << 8 | Int($1)) } % 100
    }
}
