import Configuration
import Platform

extension Configuration {
    /// Why a server would not start on this machine: one line each.
    var startProblems: [String] {
        let lists = [
            ("addresses", listen.addresses), ("tls", listen.tls), ("https", listen.https), ("httpdns", listen.httpdns),
        ]
        let absent = lists.flatMap { key, endpoints in
            endpoints.filter { SocketAddress($0) == nil }.map { endpoint in
                "\(endpoint): this machine has no interface \(endpoint.zone ?? "") (see listen.\(key))"
            }
        }
        return absent + (unknownUser.map { [$0] } ?? [])
    }

    private var unknownUser: String? {
        guard !listen.user.isEmpty else { return nil }
        do throws(SystemError) {
            _ = try Privileges.account(named: listen.user)
            return nil
        } catch {
            return "\(error) (see listen.user)"
        }
    }
}
