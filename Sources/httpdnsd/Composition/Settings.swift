import Configuration
import DNSCache
import DNSResolver
import DNSWire
import Glibc
import HTTPDNS
import Platform
import Upstreams

// What the configuration says, in the terms of the parts.

extension LocalDNSServer {
    /// A zone that is a number is replaced by the interface's name.
    init(_ endpoint: AddressAndPort) {
        let zone = endpoint.zone.map { zone in UInt32(zone).flatMap(SocketAddress.interfaceName) ?? zone }
        self.init(endpoint.address, port: endpoint.port, interface: zone)
    }

    /// Reads what its description says.
    init?(text: some StringProtocol) {
        guard let endpoint = AddressAndPort(text) else { return nil }
        self.init(endpoint)
    }
}

extension HTTPDNSSettings {
    /// - Parameter mark: goes with each request; nil: none.
    init(_ entry: Configuration.ProviderEntry, proxy: SocketAddress?, mark: LoopMark?) {
        let (host, certified) = (entry.url.host.description, entry.tlsNames.map(\.description))
        self.init(
            name: entry.name, format: entry.format,
            origin: HTTPOrigin(
                scheme: entry.url.scheme, port: entry.url.port,
                hosts: entry.url.scheme == .https && !certified.isEmpty ? certified : [host],
                basePath: entry.type.urlIsWhole ? "" : entry.url.path, caFile: entry.caFile,
                pins: entry.pins, proxy: proxy),
            host: host)
        addresses = entry.addresses.map { SocketAddress($0.address, port: $0.port) }
        schedule = entry.schedule
        names = entry.names
        clientSubnet = entry.clientSubnet
        dailyLimit = entry.dailyLimit
        monthlyLimit = entry.monthlyLimit
        unitsOfAnswer = entry.unitsOfAnswer
        timeout = entry.timeout
        mayHedge = entry.hedge
        self.mark = mark
    }
}

extension FreshnessPolicy {
    init(_ cache: Configuration.CacheSettings) {
        self.init(
            minTTL: cache.minTTL, maxTTL: cache.maxTTL, negativeTTL: cache.negativeTTL, staleMax: cache.stale.max,
            staleWait: cache.stale.wait, prefetches: cache.prefetch)
    }
}

extension Configuration.ProviderEntry {
    /// The wire form of its type, with its credentials.
    fileprivate var format: any ProviderFormat {
        let crypto = OpenSSLCrypto()
        return switch type {
        case .aliyun: AliyunFormat(account: account, secret: secret, crypto: crypto)
        case .aliyunV2:
            AliyunV2Format(
                account: account, secret: secret, box: PayloadBox(encryption, key: encryptionKey, crypto: crypto),
                crypto: crypto)
        case .tencent, .tencentHTTPS: TencentFormat(tencentAccess)
        case .doh: DoHFormat(path: url.path.isEmpty ? "/" : url.path, padsQueries: url.scheme == .https)
        case .dohJSON:
            DoHJSONFormat(
                path: url.path,
                account: secret.map {
                    AliDNSAccount(id: account, accessKeyID: accessKeyID, secret: $0, crypto: crypto)
                })
        }
    }

    /// How the service is asked for its addresses; nil: it is not.
    fileprivate var schedule: ScheduleSettings? {
        guard !startupAddresses.isEmpty else { return nil }
        let format: any ScheduleFormat
        switch type {
        case .aliyun, .aliyunV2:
            format = AliyunScheduleFormat(
                account: account, region: region.rawValue, secret: secret, crypto: OpenSSLCrypto())
        case .tencent, .tencentHTTPS: format = TencentScheduleFormat(tencentAccess)
        case .doh, .dohJSON: return nil
        }
        return (format, startupAddresses.map { SocketAddress($0.address, port: $0.port) })
    }

    private var tencentAccess: TencentFormat.Access {
        // Where there is none, the configuration is checked to hold one.
        let (token, key) = (secret ?? Secret(""), encryptionKey ?? Secret(""))
        if type == .tencentHTTPS { return .token(token, id: account) }
        let box = encryption == .des ? PayloadBox.des : PayloadBox.aes
        return .encrypted(box(key, OpenSSLCrypto()), id: account)
    }
}

extension Configuration {
    /// Nil: any number of misses.
    var missLimits: MissLimits? {
        switch limits.missesPerSecond {
        case 0?: nil
        case let number?: MissLimits(perSecond: number, burst: limits.missesBurst)
        case nil: providers.contains { $0.isMetered || $0.isLimited } ? .whereBilled : nil
        }
    }
}

/// Why something cannot be done; nil where it can.
func failure<Failure: Error>(_ body: () throws(Failure) -> Void) -> Failure? {
    do throws(Failure) {
        try body()
        return nil
    } catch {
        return error
    }
}

extension Configuration {
    /// What is said of servers that are ourselves and would be asked in circles; `serve --listen` may have made them so.
    var loopProblems: [String] {
        let servers = forwards.flatMap(\.servers) + localDNS.servers
        return servers.filter { server in listen.addresses.contains { $0.receives(server) } }.map { server in
            "\(server) is this server itself: asked there, a question would come back; remove it from the servers"
        }
    }

    /// What will not work on this machine although the server serves: one line each.
    var remarks: [String] {
        // Of a `ca_file` the configuration's own warnings say it, with the line.
        uselessAuthorities.filter { $0.file == HTTPOrigin.defaultCAFile }.map { provider, file, problem in
            "\(file): \(problem), and certificates of provider \(provider) are checked with it: install ca-certificates or set its ca_file"
        }
            + [
                expiredCertificate, undiscoverable, uselessSharedAuthorities, unverifiableLocalDNS, missingLocalDNS,
                missingGroup,
            ]
            .compactMap(\.self) + cutLists
    }

    /// The files from which the network's resolvers and the search list are read.
    var networkFiles: [String] {
        guard localDNS.groups == nil else { return [localDNS.resolvConf] }
        return LocalDNSServers.files(resolvConf: localDNS.resolvConf)
    }

    /// What is said of those that are longer than is read.
    var cutLists: [String] {
        networkFiles.filter { ResolvConf((try? readListFile($0)) ?? []).isCut }.map { file in
            "\(file): is longer than 64 KiB or 1,024 lines, so only the whole lines before that count"
        }
    }

    /// What is said when the certificate of the shared cache cannot be checked; nil when all is well.
    private var uselessSharedAuthorities: String? {
        let file = HTTPOrigin.defaultCAFile
        guard case .host(_, _, usesTLS: true)? = cache.shared.redis?.place, cache.shared.caFile.isEmpty,
            let problem = authoritiesProblem(file)
        else { return nil }
        return
            "\(file): \(problem), and the certificate of cache.shared.url is checked with it: install ca-certificates or set cache.shared.ca_file"
    }

    /// What is said while the network has no resolver but ourselves; nil when it has one.
    var missingLocalDNS: String? { localDNSProblem.map { "localdns.servers: \($0)" } }

    /// Why the network has no resolver but ourselves; nil when it has one.
    var localDNSProblem: LocalDNSServersError? {
        failure { () throws(LocalDNSServersError) in _ = try localDNSServers() }
    }

    /// The resolvers of the network that are not us, by groups.
    func localDNSServers() throws(LocalDNSServersError) -> [[LocalDNSServer]] {
        if let groups = localDNS.groups { return groups.map { $0.map { LocalDNSServer($0) } } }
        let listeners = listen.addresses.map { SocketAddress($0.address, port: $0.port) }
        let files = LocalDNSServers.files(resolvConf: localDNS.resolvConf)
        return [try LocalDNSServers.find(listeners: listeners, files: files)]
    }

    /// What is said when the group of the control socket is not on this machine; nil when it is, or none is set.
    var missingGroup: String? {
        guard !control.group.isEmpty else { return nil }
        return failure { () throws(SystemError) in _ = try Privileges.group(named: control.group) }
            .map { "control.group: \($0)" }
    }

    /// Providers over https whose authorities are of no use, each with the file, and why: every request to them would fail.
    var uselessAuthorities: [(provider: String, file: String, problem: String)] {
        providers.filter { $0.url.scheme == .https }.compactMap { entry in
            let file = entry.caFile.isEmpty ? HTTPOrigin.defaultCAFile : entry.caFile
            return authoritiesProblem(file).map { (entry.name, file, $0) }
        }
    }

    /// What is said when addresses of LocalDNS are to be checked and cannot be; nil when all is well.
    var unverifiableLocalDNS: String? {
        guard localDNS.certificateCheck != .off, route.mode == .httpdnsFirst || route.mode == .localDNSFirst,
            let problem = authoritiesProblem(HTTPOrigin.defaultCAFile)
        else { return nil }
        return
            "localdns: \(HTTPOrigin.defaultCAFile) \(problem), so no address from LocalDNS can be verified: install ca-certificates or set certificate_check = \"off\""
    }
}

extension Configuration.ControlSettings.Mode {
    /// The permission bits of the socket's file.
    var permissions: mode_t { mode_t(rawValue, radix: 8) ?? 0o600 }
}

extension SharedStoreSettings {
    /// Nil when nothing is shared.
    init?(_ shared: Configuration.SharedCache) {
        guard let redis = shared.redis, let key = shared.key else { return nil }
        self.init(
            redis: redis, key: key, prefix: shared.prefix, takesLease: shared.lease, countsCalls: shared.limits)
    }
}
