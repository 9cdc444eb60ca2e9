extension StatusReport {
    /// Several lines, in aligned columns.
    public var text: String {
        var rows: [[String]] = []
        func row(_ key: String, _ text: String, if isSo: Bool = true) {
            if isSo { rows.append([key, text]) }
        }
        row("httpdnsd", "\(version), up \(uptime.durationText), process \(pid)")
        row("config", "\(configuration), reloaded \(counted(reloads, "time")), generation \(generation)")
        if let error = reloadErrors.first {
            let more = reloadErrors.count > 1 ? " and \(counted(reloadErrors.count - 1, "mistake")) more" : ""
            row("", "NOT TAKEN at the last reload, the one before is in force: \(error)\(more)")
        }
        let places = listen.map {
            $0 + (absent.contains($0) ? " (not on this machine yet)" : "")
                + (adopted.contains($0) ? " (sockets passed on)" : "")
        }
        row("listen", places.joined(separator: ", "))
        row(
            "switch",
            policy.switchesOff
                ? "OFF by the signed policy: names go to LocalDNS"
                : isOn ? "on, mode \(mode)" : "OFF: names go to LocalDNS, until it is switched on")
        if !policy.url.isEmpty { rows += policy.rows }
        rows += providers.flatMap(\.rows)
        rows += localDNS.enumerated().map { [$0 == 0 ? "localdns" : "", $1.text] }
        row("localdns", "no server known yet", if: localDNS.isEmpty)
        for forward in forwards {
            let servers = forward.servers.map(\.text).joined(separator: ", ")
            row("forward", "\(forward.suffixes.joined(separator: ", ")) to \(servers)")
        }
        row("clock", "this machine's \(clock)", if: !clock.isEmpty)
        row(
            "portal",
            "LocalDNS gives \(portal) for unrelated names, and no provider can be reached: log in to this network "
                + "(or it is hijacked, and HTTPDNS is blocked)", if: !portal.isEmpty)
        row(
            "portal",
            "addresses of unrelated names show one certificate (SHA-256 \(interception.prefix(16))...), and no provider "
                + "can be reached: log in to this network (or it intercepts all connections)",
            if: !interception.isEmpty)
        let ago = (networkChangeAge ?? 0).durationText
        row("network", "changed \(counted(networkChanges, "time")), last \(ago) ago", if: networkChanges > 0)
        row("resolver", "on: the machine's programs ask this server", if: resolver == "on")
        row(
            "resolver", "REWRITTEN by another program: `httpdnsd resolver status` says by what, and what mends that",
            if: resolver == "rewritten")
        row("nat64", "\(nat64) stands for IPv4 addresses", if: !nat64.isEmpty)
        row("cache", cache.text)
        row("disk", cache.fileText)
        row("shared", shared.text, if: !shared.address.isEmpty)
        row(
            "now",
            "\(counted(flights, "flight")), \(counted(waiters, "waiter")), \(counted(queries, "query", "queries")), \(counted(connections, "TCP connection"))"
        )
        row(
            "busiest", "\(counted(busiestQueries, "query", "queries")) of \(busiestProgram)",
            if: !busiestProgram.isEmpty)
        rows += encrypted?.rows ?? []
        rows += apps?.rows(https: encrypted?.https ?? []) ?? []
        if let dnstap { row("dnstap", dnstap.text) }
        for (key, count, words) in [
            ("refused", refused, "of clients that are not in listen.allow"),
            ("limits", refusedMisses, "of client networks beyond limits.misses_per_second"),
            ("overload", overloads, "beyond what the server can take"),
        ] { row(key, "\(counted(count, "query", "queries")) \(words)", if: count > 0) }
        row(
            "preset",
            "\(counted(presets, "name")), \(lastResorts) in the last resort, which answered "
                + counted(lastResortAnswers, "time"), if: presets > 0 || lastResorts > 0)
        row("badip", "\(badAddresses) reported", if: badAddresses > 0)
        row(
            "forged", "\(counted(forgedChecks, "check")) found a forged address of LocalDNS; the last:",
            if: forgedChecks > 0)
        rows += forged.map { ["", "  " + $0.text] }
        return rows.tableText
    }
}
