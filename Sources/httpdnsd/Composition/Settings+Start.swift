import Configuration
import Glibc
import Logs
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

    /// Whether the server makes connections to Unix sockets of other programs, at any time.
    var connectsToUnixSockets: Bool {
        if case .unix? = log.dnstap { return true }
        if case .path? = cache.shared.url?.place { return true }
        return false
    }

    /// The user that root becomes without `listen.user`: the one that packages and images make for this server. Empty:
    /// root stays root, and the log says what that means.
    ///
    /// - Parameter file: the configuration, which a reload reads.
    func userInstead(of file: String, _ log: LogOutput) -> String {
        guard geteuid() == 0 else { return "" }
        let name = Self.packagedUser
        let reason: String
        do throws(SystemError) {
            let account = try Privileges.account(named: name)
            guard !Self.dynamicUsers.contains(account.user) else {
                return stayRoot("\(name) is one of systemd's, for its service alone", log)
            }
            try Privileges.checkDrop(to: name)
            if let reason = try Privileges.reasonAgainst(reading: [file], writing: [cache.disk.path], as: name) {
                return stayRoot("user \(name) cannot use \(reason.place) (\(reason.error.reason))", log)
            }
            log.logger.log(.startUser, "started as root without listen.user: it becomes user \(name)")
            return name
        } catch {
            reason = error.code == ENOENT ? "there is no user \(name)" : "\(error)"
        }
        return stayRoot(reason, log)
    }

    private func stayRoot(_ reason: String, _ log: LogOutput) -> String {
        log.logger.log(
            .startRoot,
            """
            serving as root, since listen.user is empty and \(reason): whoever breaks into the server can read every file \
            of root's and use every socket of root's; write a user into listen.user, or "root" if it is meant
            """)
        return ""
    }

    private static let packagedUser = "httpdnsd"
    /// The numbers that systemd gives away for the time that a service runs (systemd's DynamicUser=).
    private static let dynamicUsers: ClosedRange<uid_t> = 61_184...65_519
}
