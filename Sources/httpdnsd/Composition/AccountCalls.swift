import DNSResolver
import Scheduling

/// How often accounts were called that the configuration does not have now: a reload may bring them back.
@Loop
final class AccountCalls {
    private var records: [String: CallQuota.Record] = [:]

    /// Notes the calls of an account whose quota ends.
    func put(_ record: CallQuota.Record, of account: String) { records[account] = record }

    /// The calls of an account for a new quota, which counts on from there.
    func take(of account: String) -> CallQuota.Record? { records.removeValue(forKey: account) }
}
