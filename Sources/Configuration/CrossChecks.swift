import DNSResolver
import DNSWire

extension Configuration {
    private static let modePath = SettingPath("route", "mode")

    /// A mode that asks HTTPDNS needs a provider.
    func checkMode(_ reading: Reading) {
        if route.mode == .localDNSFirst, localDNS.certificateCheck == .off {
            let path = SettingPath("localdns", "certificate_check")
            reading.fail(
                path,
                "must not be \"off\" with route.mode = \"localdns-first\", which believes LocalDNS by certificates;"
                    + " leave it out, or write mode = \"localdns-only\"")
        }
        // Providers that were refused have been reported already.
        guard providers.isEmpty, reading.isSound(.providers), !reading.isMisspelt(.providers),
            reading.isSound(Self.modePath)
        else { return }
        if route.mode.needsProvider {
            let leftOut = reading.leftOutEntries.first { $0.parent == .providers }
            // The user of a container has set no variable, and does not know the file.
            if let leftOut, let type = Self.variable(of: leftOut, "type", reading) {
                let others = ["account", "secret", "url"].compactMap { Self.variable(of: leftOut, $0, reading) }
                let what = others.isEmpty ? "" : ", and what that needs: \(others.joined(separator: ", "))"
                return reading.fail(
                    .root,
                    "there is no provider to ask: set the environment variable \(type) to its type, such as aliyun, tencent or doh\(what)"
                )
            }
            reading.fail(
                Self.modePath,
                "\(quoted(route.mode.rawValue)) needs at least one [[provider]], and there is none;"
                    + " add one, or write mode = \"localdns-only\"")
        } else if route.mode == .localDNSFirst {
            reading.warn(
                Self.modePath, "there is no [[provider]]: where LocalDNS's address is not verified nothing is asked")
        }
    }

    /// The variable that stands for a key of a table.
    private static func variable(of table: SettingPath, _ key: String, _ reading: Reading) -> String? {
        reading.writtenText(of: table.appending(key: key)).flatMap { WrittenText.variables(in: $0).first }
    }

    /// The least time of the cache holds for every answer.
    func checkLocalTTL(_ reading: Reading) {
        guard localDNS.maxTTL < cache.minTTL else { return }
        let path = SettingPath("localdns", "max_ttl")
        reading.warn(path, "has no effect below cache.min_ttl (\(cache.minTTL.written))")
    }

    /// Keys that count only beside another one say so where they are set without it.
    func checkEffects(_ reading: Reading) {
        func warn(_ isIdle: Bool, _ place: SettingPath, _ table: any SettingsTable, _ keys: [String], _ reason: String)
        {
            for key in isIdle ? keys : [] where reading.written.contains(place.appending(key: key)) {
                guard table.changedKeys.contains(key) else { continue }
                reading.warn(place.appending(key: key), "has no effect: \(reason)")
            }
        }
        let (isTLS, isHTTPS, isPlain) = (!listen.tls.isEmpty, !listen.https.isEmpty, !listen.httpdns.isEmpty)
        let (listening, controlling) = (SettingPath("listen"), SettingPath("control"))
        let files = ["certificate", "key", "client_ca", "proxies"]
        warn(!isTLS && !isHTTPS, listening, listen, files, "neither tls nor https has an address")
        warn(!isHTTPS, listening, listen, ["https_path", "tokens"], "https has no address")
        warn(!isPlain, listening, listen, ["http_names"], "httpdns has no address")
        let nowhere = "none of tls, https and httpdns has an address"
        warn(!isTLS && !isHTTPS && !isPlain, listening, listen, ["name", "advertise"], nowhere)
        warn(control.http == nil, controlling, control, ["http_names"], "there is no control.http")
        warn(control.socket.isEmpty, controlling, control, ["group", "mode"], "control.socket is empty")
        let ofPolicy = ["public_key", "interval", "on_expiry", "labels", "ca_file"]
        warn(policy.url == nil, SettingPath("policy"), policy, ofPolicy, "there is no policy.url")
        let isUnlimited = cache.shared.redis != nil && !providers.contains(where: \.isLimited)
        let unlimited = "no [[provider]] has daily_limit or monthly_limit"
        warn(isUnlimited, SettingPath("cache", "shared"), cache.shared, ["limits"], unlimited)
        let (disk, path) = (cache.disk, SettingPath("cache", "disk"))
        warn(disk.path.isEmpty, path, disk, ["flush_interval"], "cache.disk.path is empty")
        let (isOff, ofChecks) = (localDNS.certificateCheck == .off, ["certificate_ports", "unverified"])
        warn(isOff, SettingPath("localdns"), localDNS, ofChecks, "certificate_check is \"off\"")
        warn(!answers.dropsPrivate, SettingPath("answers"), answers, ["private_names"], "private_addresses is \"keep\"")
    }

    /// One port of an address has one listener.
    func checkControlAddress(_ reading: Reading) {
        let others = listen.lists.flatMap(\.addresses)
        guard let http = control.http, let other = others.first(where: { $0.overlaps(http) }) else { return }
        reading.fail(SettingPath("control", "http"), "\"\(http)\" and \"\(other)\" of listen overlap: use another port")
    }

    /// A server that forwards to itself never answers.
    func checkLoops(_ reading: Reading) {
        var places: [(SettingPath, [AddressAndPort])] = []
        if let groups = localDNS.groups {
            let path = SettingPath("localdns", "servers")
            for (index, servers) in groups.enumerated() {
                places.append((groups.count == 1 ? path : path.appending(entry: index + 1), servers))
            }
        }
        for (index, forward) in forwards.enumerated() {
            places.append((SettingPath.forward(index).appending(key: "servers"), forward.servers))
        }
        for (path, servers) in places {
            for (index, server) in servers.enumerated() where listen.addresses.contains(where: { $0.receives(server) })
            {
                reading.fail(
                    path.appending(entry: index + 1), "\"\(server)\" is this server itself (see listen.addresses)")
            }
        }
    }

    /// A suffix stands in one list only, or one of them has no effect.
    func checkSuffixes(_ reading: Reading) {
        var owners: [Name: SettingPath] = [:]
        let lists =
            forwards.enumerated().map { (SettingPath.forward($0).appending(key: "suffixes"), $1.suffixes) }
            + [(SettingPath("route", "bypass"), route.bypass), (SettingPath("route", "protect"), route.protect)]
        for (index, (path, suffixes)) in lists.enumerated() {
            for (number, suffix) in suffixes.enumerated() {
                guard let owner = owners[suffix], owner != path else {
                    owners[suffix] = path
                    continue
                }
                let place = path.appending(entry: number + 1)
                if index < forwards.count {
                    reading.fail(place, "\(quoted(suffix.description)) is already in \(owner)")
                } else {
                    reading.warn(
                        place, "\(quoted(suffix.description)) has no effect: it is also in \(owner), which wins")
                }
            }
        }
    }

    /// A name is protected only if some provider may answer it.
    func checkProtection(_ reading: Reading) {
        guard !providers.isEmpty, route.mode != .localDNSOnly, providers.allSatisfy({ !$0.names.isEmpty }) else {
            return
        }
        let path = SettingPath("route", "protect")
        let answered = Set(providers.flatMap(\.names))
        let above = Set(answered.flatMap(\.itselfAndAncestors))
        for (number, suffix) in route.protect.enumerated()
        where !above.contains(suffix) && !suffix.itselfAndAncestors.contains(where: answered.contains) {
            reading.warn(
                path.appending(entry: number + 1),
                "\(quoted(suffix.description)) is not protected: it is in no provider's names, and LocalDNS answers it")
        }
    }

    /// Where each question is billed, the configuration should say for which names.
    func checkBilling(_ reading: Reading) {
        guard route.protectsUnlisted, route.mode != .localDNSOnly else { return }
        let entries = providers.enumerated().filter { $0.element.isMetered && $0.element.names.isEmpty }
        guard let first = entries.first else { return }
        let names = entries.map { quoted($0.element.name) }.joined(separator: ", ")
        reading.warn(
            .provider(first.offset),
            "every name is asked of \(names), which bills each question; list the names that need it in the provider's"
                + " names or in route.protect")
    }

    /// What happens to listed names at a limit of calls, which any client can help to reach.
    func checkLimits(_ reading: Reading) {
        let limited = providers.enumerated().filter(\.element.isLimited)
        guard let first = limited.first, limited.count == providers.count, route.mode == .httpdnsFirst,
            localDNS.certificateCheck == .auto || localDNS.certificateCheck == .strict,
            !route.protect.isEmpty || providers.contains(where: { !$0.names.isEmpty })
        else { return }
        reading.warn(
            .provider(first.offset),
            "at its limit of calls, which clients reach together, a listed name without TLS is SERVFAIL; such names"
                + " belong in localdns.unverified")
    }
}

extension Name {
    /// The name and all above it, the root last.
    fileprivate var itselfAndAncestors: [Name] { Array(sequence(first: self, next: \.parent)) }
}

extension SettingPath {
    /// - Parameter index: counted from 0.
    static func forward(_ index: Int) -> SettingPath {
        SettingPath("forward").appending(entry: index + 1)
    }
}
