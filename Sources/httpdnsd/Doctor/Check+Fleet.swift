import Admin
import Configuration
import Glibc
import Platform

// What the running server says of what it shares with others: the cache and the signed policy.

extension Check {
    /// How long before its expiry a policy is to be signed again, in seconds.
    private static let leastLeft: Int64 = 7 * 86_400

    static let sharedCache = ofStatus(
        "shared", well: "the shared cache answers and takes answers, or none is configured"
    ) {
        status in
        let shared = status.shared
        guard !shared.address.isEmpty else { return [] }
        var findings: [Finding] = []
        if shared.state != .used {
            findings.append(
                Finding(
                    "shared.unreachable", .warning,
                    "\(shared.address) is not asked, and every miss asks a provider: \(shared.error)",
                    mend: "`redis-cli -u` with cache.shared.url from this machine: address, user, password and TLS"))
        }
        if shared.refused > 0 {
            findings.append(
                Finding(
                    "shared.refused", .warning,
                    "\(shared.address) has not taken \(shared.refused) answers since the start: it was away, is full, read-only, or its user may not write",
                    mend:
                        "`maxmemory-policy allkeys-lru`, or the commands that Documentation/Fleet.md lists for its user"
                ))
        }
        if shared.damaged > 0 {
            findings.append(
                Finding(
                    "shared.damaged", .warning,
                    "\(shared.address) has \(shared.damaged) values that were sealed under another key, or changed",
                    mend: "the same cache.shared.key on all machines; or find the program that writes there"))
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
            findings.append(
                Finding(
                    "policy.missing", .warning, "no policy has come from \(policy.url) yet",
                    mend: "`httpdnsd policy show` says how its fetches go"))
        case .expired, .overdue:
            findings.append(
                Finding(
                    "policy.expired", .warning, "the policy with serial \(policy.serial) expired at \(policy.expires)",
                    mend: "sign it again with a higher serial and a later document.expires"))
        // The texts of two times in UTC have the order of the times.
        case .inForce where policy.expires < UTCTime(milliseconds: (now + leastLeft) * 1_000).description:
            findings.append(
                Finding(
                    "policy.ending", .warning, "the policy with serial \(policy.serial) expires at \(policy.expires)",
                    mend: "sign it again with a higher serial and a later document.expires"))
        case .inForce, .elsewhere: break
        }
        // A document for other machines is no fault, and its remark does not begin with the place.
        if policy.problem.hasPrefix(policy.url) {
            findings.append(
                Finding(
                    "policy.refused", .warning, policy.problem,
                    mend: "policy.url and policy.public_key; `httpdnsd policy verify` for the document"))
        }
        return findings
    }
}
