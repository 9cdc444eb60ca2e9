import DNSCache
import HTTPDNS

// Reports as text for people.

extension StatusReport {
    /// Several lines, in aligned columns.
    package var text: String {
        var rows = [
            ["httpdnsd", "\(version), up \(Self.duration(uptime)), process \(pid)"],
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
            let ago = Self.duration(networkChangeAge ?? 0)
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
                "\(counted(cache.memory.entries, "answer")), \(Self.size(cache.memory.bytes)) of \(Self.size(cache.memory.limit)); \(counted(cache.memory.hits, "hit")), \(counted(cache.memory.misses, "miss", "misses")), \(cache.stale) served stale, \(cache.refreshes) prefetched",
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
        return Self.lines(rows)
    }

    /// The lines of a table, its columns two spaces apart; the last one is not padded. Control characters, which texts
    /// from services may contain, are escaped.
    package static func lines(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map { VisibleText($0).description } }
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.dropLast().enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                column == row.count - 1
                    ? cell : cell + String(repeating: " ", count: widths[column] + 2 - cell.count)
            }.joined()
        }.joined(separator: "\n")
    }

    /// `3 d 4 h`, `5 min 6 s`.
    static func duration(_ seconds: Int) -> String {
        let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
        guard let first = units.firstIndex(where: { seconds >= $0.1 }) else { return "0 s" }
        var text = "\(seconds / units[first].1) \(units[first].0)"
        if first + 1 < units.count {
            text += " \(seconds % units[first].1 / units[first + 1].1) \(units[first + 1].0)"
        }
        return text
    }

    /// `64.0 MiB`, `512 B`.
    static func size(_ bytes: Int) -> String {
        var (value, unit) = (Double(bytes), "B")
        for larger in ["KiB", "MiB", "GiB"] where value >= 1_024 { (value, unit) = (value / 1_024, larger) }
        if unit == "B" { return "\(bytes) B" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
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
        if let lastError { text += "; last failure \(StatusReport.duration(lastErrorAge ?? 0)) ago: \(lastError)" }
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

extension CacheReport {
    /// A line for each answer.
    package var listText: String {
        guard !entries.isEmpty else { return "" }
        var rows = [["NAME", "TYPE", "LEFT", "AGE", "SOURCE", "ADDRESSES"]]
        for entry in entries {
            let isLong = entry.name.utf8.count > Self.nameWidth
            if isLong { rows.append([entry.name]) }
            rows.append([
                isLong ? "" : entry.name, entry.type + (entry.isSigned ? "+" : ""), entry.leftText, "\(entry.age)",
                entry.sourceText,
            ])
            let words = entry.addresses.isEmpty ? [entry.isAnswer ? "-" : entry.status] : entry.addresses
            rows[rows.count - 1].append(words.joined(separator: " "))
        }
        return StatusReport.lines(rows).split(separator: "\n").map(Self.wrapped).joined(separator: "\n")
    }

    /// The longest name that shares a line with its answer.
    private static let nameWidth = 24
    /// The columns of a terminal.
    private static let width = 80

    /// A line whose last words, addresses, go to lines of their own where the terminal ends.
    private static func wrapped(_ line: Substring) -> String {
        var (lines, rest) = ([String](), String(line))
        while rest.count > width, let end = rest.prefix(width + 1).lastIndex(of: " "), end > rest.startIndex,
            rest[..<end].contains(where: { $0 != " " })
        {
            lines.append(String(rest[..<end].reversed().drop { $0 == " " }.reversed()))
            rest = "      " + rest[end...].drop { $0 == " " }
        }
        return (lines + [rest]).joined(separator: "\n")
    }

    /// A head line for each answer, and its records.
    package var showText: String {
        let answers = entries.map { entry in
            let left = entry.isStale || entry.isUnusable ? entry.leftText : "\(entry.leftText) s left"
            let head =
                "\(entry.name) \(entry.type)\(entry.isSigned ? " (DNSSEC)" : ""): \(entry.status), from \(entry.sourceText)\(entry.server.isEmpty ? "" : " at \(entry.server)") \(entry.age) s ago, \(left)"
            return ([head] + entry.records.map { "\($0.name) \($0.ttl) \($0.type) \($0.data)" })
                .map { VisibleText($0).description }.joined(separator: "\n")
        }
        return (answers + forged.map { "forged: \($0.text)" }).joined(separator: "\n")
    }
}

extension CacheReport.Entry {
    /// The remaining seconds, or why there are none.
    fileprivate var leftText: String { isUnusable ? "unusable" : isStale ? "stale" : "\(ttl)" }

    /// The source, and its client network where it is not for all clients.
    fileprivate var sourceText: String {
        source + (provider.isEmpty ? "" : " \(provider)") + (clients.isEmpty ? "" : ", for \(clients)")
    }
}

extension ForgedAddress {
    /// One line: the name, the address, and the certificate that it showed.
    package var text: String {
        var text = "\(name) at \(address) port \(port): \(reason)"
        if !subject.isEmpty { text += "; subject \(subject)" }
        if !issuer.isEmpty { text += ", issuer \(issuer)" }
        if !fingerprint.isEmpty { text += ", SHA-256 \(fingerprint)" }
        return VisibleText(text).description + "; seen \(counted(count, "time")), \(first) to \(last)"
    }
}

extension StatusReport.Cache {
    fileprivate var fileText: String {
        if file.isEmpty { return "answers are cached in memory alone" }
        let reason = fileError.isEmpty ? "" : " (\(fileError))"
        return "\(file), \(fileState)\(reason): \(counted(loaded, "answer")) loaded, \(written) written"
    }
}

extension BadAddressReport {
    /// A line for each address.
    package var text: String {
        guard !addresses.isEmpty else { return "" }
        return StatusReport.lines(
            [["ADDRESS", "WEIGHT", "FADES IN"]]
                + addresses.map { [$0.address, "\($0.weight)%", StatusReport.duration($0.fades)] })
    }
}
