import DNSCache
import HTTPDNS

extension StatusReport {
    /// Several lines, in aligned columns.
    package var text: String {
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
                "\(counted(cache.memory.entries, "answer")), \(PlainText.size(cache.memory.bytes)) of \(PlainText.size(cache.memory.limit)); \(counted(cache.memory.hits, "hit")), \(counted(cache.memory.misses, "miss", "misses")), \(cache.stale) served stale, \(cache.refreshes) prefetched",
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

extension StatusReport.Provider {
    /// A line for the provider, and one for each address.
    fileprivate var rows: [[String]] {
        var text = "\(name): \(type) at \(url)"
        if !isAuthenticated { text += ", can be forged or replayed on the path" }
        if callsThisMonth > 0 {
            text += "; \(Self.calls(callsToday, of: dailyLimit)) today"
            text += ", \(Self.calls(callsThisMonth, of: monthlyLimit)) this month"
            if let callsForecast { text += ", about \(callsForecast) by its end" }
        }
        text += fleetText
        if billedThisMonth > 0, billedThisMonth != callsThisMonth {
            text += "; billed as \(billedToday) today, \(billedThisMonth) this month"
            if let billedForecast { text += ", about \(billedForecast) by its end" }
        }
        if state == .exhausted { text += "; not asked until \(exhaustedUntil)" }
        if state == .disabled { text += "; disabled by its vendor, looked at again in \(retry ?? 0) s" }
        if clockOffset != 0 {
            text += "; its clock is \(clockOffset.magnitude) s \(clockOffset < 0 ? "behind" : "ahead of") ours"
        }
        if state == .refused { text += "; access refused, asked again in \(retry ?? 0) s" }
        return [["provider", text]] + addresses.map { ["", "  " + $0.text] }
    }
}

extension StatusReport.Provider {
    /// What the fleet has used of the limits; empty where calls are not counted together.
    private var fleetText: String {
        guard let fleetServers else { return "" }
        if !fleetError.isEmpty {
            return
                "; the fleet's calls CANNOT BE COUNTED (\(fleetError)): this server keeps to its share, a part in \(fleetServers)"
        }
        var counts: [String] = []
        if let fleetToday { counts.append("\(Self.calls(fleetToday, of: dailyLimit)) today") }
        if let fleetThisMonth { counts.append("\(Self.calls(fleetThisMonth, of: monthlyLimit)) this month") }
        if counts.isEmpty { counts.append("not counted yet") }
        return "; the fleet of \(counted(fleetServers, "server")): \(counts.joined(separator: ", "))"
    }

    private static func calls(_ count: Int, of limit: Int) -> String {
        limit > 0 ? "\(count) of \(counted(limit, "call"))" : counted(count, "call")
    }
}

extension StatusReport.Address {
    fileprivate var text: String {
        var text = "\(address) \(StatusReport.stateText(state, retry)); "
        text += "\(counted(requests, "request")), \(counted(failures, "failure"))"
        if let responseMilliseconds { text += ", replies in \(responseMilliseconds) ms" }
        if let pace { text += ", \(pace) at once: it says \"not so fast\"" }
        if let lastError { text += "; last failure \(PlainText.duration(lastErrorAge ?? 0)) ago: \(lastError)" }
        return text
    }
}

extension StatusReport.Server {
    fileprivate var text: String {
        "\(address) \(StatusReport.stateText(state, retry))" + (group.map { ", group \($0)" } ?? "")
    }
}

extension StatusReport {
    fileprivate static func stateText(_ state: State, _ retry: Int?) -> String {
        retry.map { "\(state.rawValue) for \($0) s" } ?? state.rawValue
    }
}
