import Admin
import Configuration
import Glibc
import Platform
import Upstreams

// What the running server says of what it shares with others: the cache and the signed policy.

extension Check {
    /// How long before its expiry a policy is to be signed again, in seconds.
    private static let leastLeft: Int64 = 7 * 86_400
    /// What went wrong with the shared cache so many seconds ago is over.
    private static let wellAfter = 600

    static let sharedCache: Check = Check(
        subject: "shared", well: "the shared cache answers and takes answers, or none is configured",
        findings: { examined in
            let asked = examined.shared.map { findings(on: $0, examined.settings.cache.shared.timeout) }
            let said = examined.report?.found(by: sharedCache.subject)
            guard asked != nil || said != nil else { return nil }
            // What is seen from here goes before what the server says of the same.
            let keys = (asked ?? []).map(\.key)
            return (asked ?? []) + (said ?? []).filter { !keys.contains($0.key) }
        }, reported: { status, _ in findings(on: status.shared) + uncounted(status.providers) })

    private static func findings(on asked: (place: String, outcome: SharedExamination), _ timeout: Duration)
        -> [Finding]
    {
        switch asked.outcome {
        case .unreachable(let reason):
            [.unreachable("\(asked.place) cannot be asked from here: \(reason)")]
        case .refuses(let command, let reason): [.refused("\(asked.place) refuses \(command): \(reason)")]
        case .works(let latency) where latency > timeout / 2:
            .warning(
                "shared.slow",
                "\(asked.place) took \(Int(latency / .milliseconds(1))) ms for one command, of \(Int(timeout / .milliseconds(1))) ms that a look-up may take",
                mend: "a Redis nearer to this machine, or a longer cache.shared.timeout")
        case .works: []
        }
    }

    private static func uncounted(_ providers: [StatusReport.Provider]) -> [Finding] {
        providers.filter { !$0.fleetError.isEmpty }.map { provider in
            Finding(
                "shared.uncounted", .warning,
                "the fleet's calls to provider \(provider.name) are not counted, and this server keeps to its share of the limits: \(provider.fleetError)",
                mend: "a Redis that can be reached, whose user may run EVAL; or cache.shared.limits = false")
        }
    }

    private static func findings(on shared: StatusReport.SharedCache) -> [Finding] {
        guard !shared.address.isEmpty else { return [] }
        var findings: [Finding] = []
        if shared.state == .inBackoff {
            findings.append(
                .unreachable("\(shared.address) is not asked, and every miss asks a provider: \(shared.error)"))
        }
        if let age = shared.refusedAge, age < wellAfter {
            findings.append(
                .refused(
                    "\(shared.address) has not taken \(counted(shared.refused, "answer")) since the start, the last \(age) s ago: it is full, read-only, or its user may not write"
                ))
        }
        if let age = shared.damagedAge, age < wellAfter {
            findings += .warning(
                "shared.damaged",
                "\(shared.address) has had \(counted(shared.damaged, "value")), the last \(age) s ago, sealed under another key, or changed",
                mend: "the same cache.shared.key on all machines; or find the program that writes there")
        }
        return findings
    }

    static let policy = ofStatus("policy", well: "the signed policy is in force, or none is configured") { status in
        findings(on: status.policy, now: Int64(time(nil)))
    }

    /// - Parameter now: seconds since 1970.
    static func findings(on policy: StatusReport.Policy, now: Int64) -> [Finding] {
        guard !policy.url.isEmpty else { return [] }
        var findings: [Finding] = []
        switch policy.state {
        case .none:
            findings += .warning(
                "policy.missing", "no policy has come from \(policy.url) yet",
                mend: "`httpdnsd policy show` says how its fetches go")
        case .expired, .overdue, .inForce:
            let isOver = policy.state != .inForce
            // The texts of two times in UTC have the order of the times.
            guard isOver || policy.expires < UTCTime(milliseconds: (now + leastLeft) * 1_000).description else { break }
            findings += .warning(
                isOver ? "policy.expired" : "policy.ending",
                "the policy with serial \(policy.serial) \(isOver ? "expired" : "expires") at \(policy.expires)",
                mend: "sign it again with a higher serial and a later document.expires")
        case .elsewhere: break
        }
        // A document for other machines is no fault, and its remark does not begin with the place.
        if policy.problem.hasPrefix(policy.url) {
            findings += .warning(
                "policy.refused", policy.problem,
                mend: "policy.url and policy.public_key; `httpdnsd policy verify` for the document")
        }
        return findings
    }
}

extension Finding {
    fileprivate static func unreachable(_ sentence: String) -> Finding {
        Finding(
            "shared.unreachable", .warning, sentence,
            mend: "`redis-cli -u` with cache.shared.url from this machine: address, user, password and TLS")
    }

    fileprivate static func refused(_ sentence: String) -> Finding {
        Finding(
            "shared.refused", .warning, sentence,
            mend:
                "`maxmemory-policy allkeys-lru`, or the commands that Documentation/Fleet.md lists for its user; cache.shared.lease needs Redis 7.0"
        )
    }
}
