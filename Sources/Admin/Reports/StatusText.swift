extension StatusReport {
    /// Several lines, in aligned columns.
    var text: String {
        var rows = [
            ["httpdnsd", "\(version), up \(PlainText.duration(uptime)), process \(pid)"],
            [
                "config",
                "\(configuration), reloaded \(counted(reloads, "time")), generation \(generation)",
            ],
        ]
        if let error = reloadErrors.first {
            let more = reloadErrors.count > 1 ? " and \(counted(reloadErrors.count - 1, "mistake")) more" : ""
            rows.append(["", "NOT TAKEN at the last reload, the one before is in force: \(error)\(more)"])
        }
        rows += [
            [
                "listen",
                listen.map {
                    $0 + (absent.contains($0) ? " (not on this machine yet)" : "")
                        + (adopted.contains($0) ? " (sockets passed on)" : "")
                }.joined(separator: ", "),
            ],
            [
                "switch",
                policy.switchesOff
                    ? "OFF by the signed policy: names go to LocalDNS"
                    : isOn ? "on, mode \(mode)" : "OFF: names go to LocalDNS, until it is switched on",
            ],
        ]
        if !policy.url.isEmpty { rows += policy.rows }
        rows += providers.flatMap(\.rows)
        rows += localDNS.enumerated().map { [$0 == 0 ? "localdns" : "", $1.text] }
        if localDNS.isEmpty { rows.append(["localdns", "no server known yet"]) }
        for forward in forwards {
            let servers = forward.servers.map(\.text).joined(separator: ", ")
            rows.append(["forward", "\(forward.suffixes.joined(separator: ", ")) to \(servers)"])
        }
        if !clock.isEmpty { rows.append(["clock", "this machine's \(clock)"]) }
        if !portal.isEmpty {
            rows.append(
                [
                    "portal",
                    "LocalDNS gives \(portal) for unrelated names, and no provider can be reached: log in to this network "
                        + "(or it is hijacked, and HTTPDNS is blocked)",
                ])
        }
        if !interception.isEmpty {
            rows.append(
                [
                    "portal",
                    "addresses of unrelated names show one certificate (SHA-256 \(interception.prefix(16))...), and no provider "
                        + "can be reached: log in to this network (or it intercepts all connections)",
                ])
        }
        if networkChanges > 0 {
            let ago = PlainText.duration(networkChangeAge ?? 0)
            rows.append(["network", "changed \(counted(networkChanges, "time")), last \(ago) ago"])
        }
        if resolver == "on" { rows.append(["resolver", "on: the machine's programs ask this server"]) }
        if resolver == "rewritten" {
            rows.append(["resolver", "REWRITTEN by another program: `httpdnsd resolver on` takes resolv.conf again"])
        }
        if !nat64.isEmpty { rows.append(["nat64", "\(nat64) stands for IPv4 addresses"]) }
        rows += [
            [
                "cache",
                "\(counted(cache.entries, "answer")), \(PlainText.size(cache.bytes)) of \(PlainText.size(cache.limit)); \(counted(cache.hits, "hit")), \(counted(cache.misses, "miss", "misses")), \(cache.stale) served stale, \(cache.refreshes) prefetched",
            ],
            ["disk", cache.fileText],
        ]
        if !shared.address.isEmpty { rows.append(["shared", shared.text]) }
        rows += [
            [
                "now",
                "\(counted(flights, "flight")), \(counted(waiters, "waiter")), \(counted(queries, "query", "queries")), \(counted(connections, "TCP connection"))",
            ]
        ]
        if !busiestProgram.isEmpty {
            rows.append(["busiest", "\(counted(busiestQueries, "query", "queries")) of \(busiestProgram)"])
        }
        if let encrypted { rows += encrypted.rows }
        if let apps { rows += apps.rows(https: encrypted?.https ?? []) }
        if let dnstap { rows.append(["dnstap", dnstap.text]) }
        let unanswered = [
            ("refused", refused, "of clients that are not in listen.allow"),
            ("limits", refusedMisses, "of client networks beyond limits.misses_per_second"),
            ("overload", overloads, "beyond what the server can take"),
        ]
        for (key, count, words) in unanswered where count > 0 {
            rows.append([key, "\(counted(count, "query", "queries")) \(words)"])
        }
        if presets > 0 || lastResorts > 0 {
            rows.append([
                "preset",
                "\(counted(presets, "name")), \(lastResorts) in the last resort, which answered "
                    + counted(lastResortAnswers, "time"),
            ])
        }
        if badAddresses > 0 { rows.append(["badip", "\(badAddresses) reported"]) }
        if forgedChecks > 0 {
            rows.append(["forged", "\(counted(forgedChecks, "check")) found a forged address of LocalDNS; the last:"])
        }
        rows += forged.map { ["", "  " + $0.text] }
        return PlainText.lines(rows)
    }
}
