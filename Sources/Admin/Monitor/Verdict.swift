public import HTTPDNS

/// Something that is wrong on this machine or in its network, and what mends it: for `doctor` and for the page.
public struct Finding: JSONRecord {
    public enum Severity: String, JSONValue {
        /// Names are not answered, or not by this server; or a hanging machine keeps that from being known.
        case error
        /// Names are answered; a protection or a reserve is missing.
        case warning
    }

    /// A word for scripts that does not change, such as `port.held`.
    @Member("key") public private(set) var key = ""
    @Member("severity") public private(set) var severity = Severity.error
    /// What is wrong, with the evidence: one line.
    @Member("sentence") public private(set) var sentence = ""
    /// The command or setting that mends it: one line.
    @Member("remedy") public private(set) var remedy = ""
    /// The provider that it is about; empty: none. No member in JSON.
    public let provider: String

    public init(
        _ key: String, _ severity: Severity, _ sentence: String, mend remedy: String, of provider: String = ""
    ) {
        self.provider = provider
        (self.key, self.severity, self.sentence, self.remedy) = (key, severity, sentence, remedy)
    }
}

extension [Finding] {
    /// One that is an error.
    public static func error(_ key: String, _ sentence: String, mend remedy: String) -> [Finding] {
        [Finding(key, .error, sentence, mend: remedy)]
    }

    /// One that is a warning.
    public static func warning(_ key: String, _ sentence: String, mend remedy: String) -> [Finding] {
        [Finding(key, .warning, sentence, mend: remedy)]
    }
}

/// Whether the server does what it is for: by what clients got in the last five minutes, and by what is found wrong.
struct Verdict: Sendable {
    enum Level: String, Comparable, Sendable {
        /// Clients get right answers, and nothing is found wrong.
        case green
        /// Clients get answers; some were late or missing, or a source, a reserve or a protection is missing.
        case amber
        /// Names are not answered, or not protected.
        case red

        private var rank: Int { self == .green ? 0 : self == .amber ? 1 : 2 }

        static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }
    }

    /// What clients got: all queries that were taken or dropped, those of them that got SERVFAIL or nothing, and those that got
    /// an answer past its TTL.
    typealias Traffic = (queries: Int, failed: Int, stale: Int)
    typealias Cause = (level: Level, finding: Finding)

    let traffic: Traffic
    /// The worst first; green has none.
    let causes: [Cause]

    var level: Level { causes.map(\.level).max() ?? .green }

    /// - Parameter unreadiness: why no question can be answered from any source; nil when one may be.
    init(unreadiness: String?, status: StatusReport, findings: [Finding], traffic: Traffic) {
        self.traffic = traffic
        var found: [Cause] = []
        if let unreadiness {
            let remedy =
                unreadiness == "stopping" ? "`systemctl start httpdnsd` once it has stopped" : "`httpdnsd doctor`"
            let sentence = "no name can be answered that is not cached: \(unreadiness)"
            found.append((.red, Finding("server.unready", .error, sentence, mend: remedy)))
        }
        // While HTTPDNS is meant to be used.
        if status.isOn, status.isCutOff, status.mode != "localdns-only" {
            let finding = Finding(
                "providers.none", .error,
                "no provider can be reached: protected names have what is cached, or LocalDNS",
                mend: "`httpdnsd doctor` says what is in the way of each")
            found.append((.red, finding))
        }
        // More than one query in a hundred is never well; more than one in ten, and not by a chance of few queries, is bad.
        if traffic.failed * 100 > traffic.queries {
            let finding = Finding(
                "answers.failed", .error,
                "\(Self.share(traffic.failed, of: traffic)) of the queries of the last 5 minutes got SERVFAIL or nothing",
                mend: "`httpdnsd query NAME --trace` says why; `journalctl -u httpdnsd -p warning`")
            let isBad = traffic.failed * 10 > traffic.queries && traffic.failed >= 3
            found.append((isBad ? .red : .amber, finding))
        }
        if traffic.stale * 100 > traffic.queries {
            let finding = Finding(
                "answers.stale", .warning,
                "\(Self.share(traffic.stale, of: traffic)) of the queries of the last 5 minutes got an answer past its TTL",
                mend: "`httpdnsd doctor` says which source is slow or away")
            found.append((.amber, finding))
        }
        // Clients are not given a forged address: to find one is what the server is for.
        let others = findings.filter { $0.key != "localdns.forged" }.map { (level: .amber, finding: $0) } as [Cause]
        // Not `sorted`, which may change the order of equals.
        causes = [.red, .amber].flatMap { level in (found + others).filter { $0.level == level } }
    }

    /// Such as `4.2 % (21 of 500)`.
    private static func share(_ part: Int, of traffic: Traffic) -> String {
        let tenths = (part * 1_000 + traffic.queries / 2) / traffic.queries
        return "\(tenths / 10).\(tenths % 10) % (\(part) of \(traffic.queries))"
    }
}
