import Configuration
import Glibc
import Platform

/// The signed policy of a configuration, as `check` finds it: the document of a file, or the one that is stored beside
/// the cache. Nothing is fetched.
struct ExaminedPolicy {
    /// The one that would be in force; nil: none.
    private(set) var inForce: SignedPolicy?
    /// What is said of it, for people; nil: no policy is configured.
    private(set) var text: String?
    /// What is wrong, one line each; a server goes on with what it has.
    private(set) var warnings: [String] = []

    /// - Parameter now: seconds since 1970.
    init(_ settings: Configuration, now: Int64 = Int64(time(nil))) {
        guard let url = settings.policy.url else { return }
        let stored = stored(settings, now)
        if case .file(let path) = url { judge(path, after: stored, settings, now) }
        let place =
            if case .https = url { "\(url), which is not fetched for this check" } else { "\(url)" }
        guard let inForce else {
            text = "none in force, from \(place)"
            return
        }
        let changes = inForce.changes.isEmpty ? "changes nothing" : inForce.changes.joined(separator: ", ")
        text = "serial \(inForce.document.serial), expires \(inForce.document.expiryText), from \(place): \(changes)"
    }

    /// The verified document that was taken last; nil where there is none, or none that may be read.
    private mutating func stored(_ settings: Configuration, _ now: Int64) -> SignedPolicy? {
        guard let file = PolicyFile(settings), let bytes = file.bytes,
            let policy = open(bytes, file.path, settings, "the stored policy is not used")
        else { return nil }
        if policy.isExpired(at: now) {
            warnings.append("the stored policy with serial \(policy.document.serial) has expired: sign a later one")
        }
        if policy.isDue(by: settings, at: now) { inForce = policy }
        return policy
    }

    private mutating func judge(
        _ path: String, after stored: SignedPolicy?, _ settings: Configuration, _ now: Int64
    ) {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try readFile(path, limit: PolicyEnvelope.maximumSize + 1)
        } catch {
            return warnings.append("\(path): cannot be read: \(error.reason)")
        }
        guard let policy = open(bytes, path, settings, "it is not taken") else { return }
        switch PolicyDecision(on: policy, after: stored, now: now, isForMachine: policy.isFor(settings)) {
        case .take: inForce = policy
        case .same: break
        case .elsewhere:
            warnings.append("\(path): serial \(policy.document.serial) is for other machines, by its share or labels")
        case .refuse(let reason): warnings.append("\(path) \(reason)")
        }
    }

    /// Verifies and reads a document; what is wrong with it names its lines.
    private mutating func open(
        _ bytes: [UInt8], _ path: String, _ settings: Configuration, _ end: String
    ) -> SignedPolicy? {
        do throws(ConfigurationError) {
            return try SignedPolicy.open(bytes, file: path, keys: settings.policy.keys, check: PolicyKey.check)
        } catch {
            warnings += error.diagnostics.map { "\($0); \(end)" }
            return nil
        }
    }
}

extension SignedPolicy {
    /// Whether it is for this machine, by its share and the labels of the configuration.
    func isFor(_ settings: Configuration) -> Bool {
        document.isFor(percentile: PolicyMachine.percentile, labels: settings.policy.labels)
    }

    /// - Parameter now: seconds since 1970.
    func isExpired(at now: Int64) -> Bool { document.expires <= now }

    /// Whether it should be in force on this machine.
    func isDue(by settings: Configuration, at now: Int64) -> Bool {
        isFor(settings) && (settings.policy.onExpiry == .keep || !isExpired(at: now))
    }
}
