import Configuration
import DNSResolver
import DNSServer
import DNSWire
import Glibc
import HTTPDNS
import Platform
import Upstreams

extension Configuration {
    /// Why a server would not start on this machine: one line each.
    var startProblems: [String] {
        let absent = listen.lists.flatMap { key, endpoints in
            endpoints.filter { SocketAddress($0) == nil }.map { endpoint in
                "\(endpoint): this machine has no interface \(endpoint.zone ?? "") (see listen.\(key))"
            }
        }
        return absent + userProblems
    }

    /// Why the server could not become its user.
    var userProblems: [String] {
        guard !listen.user.isEmpty,
            let error = failure({ () throws(SystemError) in _ = try Privileges.account(named: listen.user) })
        else { return [] }
        return ["\(error) (see listen.user)"]
    }

    /// Whether the server makes connections to Unix sockets of other programs, at any time.
    var connectsToUnixSockets: Bool {
        if case .unix? = log.dnstap { return true }
        if case .path? = cache.shared.redis?.place { return true }
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

extension Configuration.Listen {
    /// The files of encrypted listeners; nil when there are none.
    var tlsFiles: TLSFiles? {
        guard isEncrypted else { return nil }
        return TLSFiles(certificate: certificate, key: key, clientAuthorities: clientCA)
    }
}

extension Configuration {
    /// Why encrypted listeners could not serve: one line each. Reads the files.
    var certificateProblems: [String] {
        let problem = failure { () throws(TLSFiles.Problem) in _ = try certificateContext }
        return problem.map { ["\($0) (see listen.certificate and listen.key)"] } ?? []
    }

    /// What is said of a certificate that is not valid now: it is served all the same, since a client may accept it and a
    /// server that does not start answers no client.
    var expiredCertificate: String? {
        guard let validity = try? certificateContext?.validity, !validity.contains(Int64(time(nil))) else { return nil }
        let what = validity.upperBound < Int64(time(nil)) ? "has expired" : "is not valid yet"
        return "\(listen.certificate): \(what), so clients refuse it: renew it"
    }

    /// What is said of a certificate by which clients cannot discover encrypted listeners; nil when all is well.
    var undiscoverable: String? {
        guard let name = listen.name?.description, let context = try? certificateContext else { return nil }
        guard context.isFor(name: name) else {
            return "listen.name: \(listen.certificate) is not for \(name), so clients refuse it there"
        }
        let missing = listen.advertisedAddresses.map(\.description).filter { !context.isFor(address: $0) }
        guard !missing.isEmpty else { return nil }
        return
            "\(listen.certificate): is not for \(missing.joined(separator: ", ")), so clients that know only the address stay with plain DNS: have it made for the address too (IP SAN)"
    }

    /// What is said of files that `listen.user` cannot read: they are read before the server becomes that user, and not
    /// again. Becomes that user meanwhile, which only a program that does nothing else may do.
    func unreadableCertificateFiles() -> [String] {
        guard let files = listen.tlsFiles, !listen.user.isEmpty else { return [] }
        do throws(SystemError) {
            return try Privileges.unreadable(files.paths, by: listen.user).map { path, place, error in
                let mode = place == path ? "0640" : "g+x"
                let remedy = "chgrp $(id -gn \(listen.user)) \(place) && chmod \(mode) \(place)"
                return
                    "\(path): user \(listen.user) cannot read it (\(error.reason)), so a renewed one is taken at the next start only: \(remedy)"
            }
        } catch {
            return ["\(error), so it is not known which files of the certificate listen.user can read"]
        }
    }

    private var certificateContext: TLSContext? {
        get throws(TLSFiles.Problem) {
            guard let files = listen.tlsFiles else { return nil }
            return try TLSContext(try files.read())
        }
    }
}

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
            id: entry.id, secret: entry.secret, accessKeyID: entry.accessKeyID,
            box: PayloadBox(entry.encryption, key: entry.encryptionKey, crypto: OpenSSLCrypto()),
            names: entry.names, namesClients: entry.clientSubnet, isReplayable: entry.replayable)
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
