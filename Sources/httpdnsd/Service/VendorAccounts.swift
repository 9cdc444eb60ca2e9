import Admin
import Configuration
import DNSResolver
import DNSServer
import DNSWire
import Glibc
import HTTPDNS
import Platform
import Upstreams

/// What came of a request in a vendor's form.
enum VendorOutcome: String, CaseIterable {
    /// Its names went the way of all queries; or it wanted this server's addresses.
    case answered
    /// Without credentials, from a network that is not in `listen.allow`.
    case access
    /// Wrong, expired or missing ones.
    case credentials
    /// From a network that has guessed too often.
    case guesses
    /// Beyond `daily_limit`.
    case quota
    /// Of a web page, over plain http.
    case site
    /// Its parameters are no call.
    case malformed

    /// That of a request that is answered without a call.
    ///
    /// - Parameter status: of the response, in HTTP.
    init(status: Int) { self = status < 400 ? .answered : [401, 403].contains(status) ? .credentials : .malformed }
}

/// The HTTPDNS service of this server: its accounts with their quotas, and the brake on guesses.
@Loop
final class VendorAccounts {
    private(set) var service: VendorService
    /// The names by which the server may be asked over plain http.
    private(set) var hosts: HTTPHosts
    private var quotas: [String: CallQuota] = [:]
    /// The calls of accounts that the configuration does not have now.
    private var calls: [String: CallQuota.Record] = [:]
    private let guesses = TokenGuard()
    private var outcomes: [VendorOutcome: Int] = [:]
    private let events: EventLog
    /// Whether accounts that list no names may ask for one from outside of `listen.allow`.
    let isPublic: @Loop (Question) -> Bool

    /// Nil when nothing listens for it.
    init?(_ settings: Configuration, isPublic: @escaping @Loop (Question) -> Bool, events: EventLog) {
        guard settings.listen.servesHTTP else { return nil }
        self.isPublic = isPublic
        self.events = events
        service = VendorService(settings)
        hosts = HTTPHosts(machine: hostName(), names: settings.listen.plainNames)
        take(settings)
    }

    /// Takes the accounts of another configuration; what is used up of a quota stays so.
    func take(_ settings: Configuration) {
        service = VendorService(settings)
        hosts = HTTPHosts(machine: hostName(), names: settings.listen.plainNames)
        let now = Int64(time(nil))
        for (id, quota) in quotas { calls[id] = quota.record(at: now) }
        quotas = [:]
        for account in settings.accounts {
            var quota = CallQuota(dailyLimit: account.dailyLimit)
            if let record = calls.removeValue(forKey: account.id) { quota.restore(record, at: now) }
            quotas[account.id] = quota
        }
    }

    func count(_ outcome: VendorOutcome) { outcomes[outcome, default: 0] += 1 }

    /// Nil where nothing is served to apps.
    func report(on server: Server) -> StatusReport.Apps? {
        guard !quotas.isEmpty || !server.httpAddresses.isEmpty else { return nil }
        let now = Int64(time(nil))
        var report = StatusReport.Apps()
        report.listen = server.httpAddresses.map(\.description)
        report.requests = VendorOutcome.allCases.map { .init(result: $0.rawValue, count: outcomes[$0] ?? 0) }
        report.accounts = quotas.sorted { $0.key < $1.key }.map { id, quota in
            .init(id: id, names: quota.count(.day, at: now).calls, limit: quota.limit(.day))
        }
        return report
    }

    /// The response to a request over plain http that a page of another site sends; nil for all others.
    func refusal(of request: HTTPServerRequest) -> HTTPServerResponse? {
        guard hosts.allow(request.fields[.host]) else { return HTTPServerResponse(.misdirected) }
        return request.isOfAnotherSite ? HTTPServerResponse(.forbidden) : nil
    }

    /// Counts the names of a call. Returns whether the account may have them resolved.
    func take(_ count: Int, of account: String?, at time: Int64) -> Bool {
        guard let account, var quota = quotas[account] else { return true }
        // All or none: a call that is refused uses up nothing.
        guard (0..<count).allSatisfy({ _ in quota.take(at: time) }) else { return false }
        quotas[account] = quota
        onCall?(account, quota.record(at: time))
        return true
    }

    /// Called with an account of limited calls and its count, to be stored, after each call.
    var onCall: (@Loop (String, CallQuota.Record) -> Void)?

    /// Continues from the count that an earlier process stored.
    func restore(_ record: CallQuota.Record, of account: String) {
        if quotas[account] == nil { calls[account] = record }
        quotas[account]?.restore(record, at: Int64(time(nil)))
    }

    /// Reports that an account was asked for names that it may not have from outside of `listen.allow`.
    func reportLimit(of account: String) {
        events.report(
            .clientRefused, about: "account \(account)",
            "account \(account) is used outside of listen.allow for names that are not protected, and gets nothing: what it may have belongs into its names"
        )
    }

    /// Notes what a client claims to know of an account.
    ///
    /// - Returns: whether the client is answered by it; not once its network has guessed at it too often.
    func note(_ credential: ServiceCredential?, isValid: Bool, from client: SocketAddress, now: Instant) -> Bool {
        let network = ClientNetwork(client.ip)
        let guess =
            switch credential {
            case .token(let token): TokenGuard.Guess(atToken: token.utf8)
            case .account(let id): TokenGuard.Guess(atAccount: id.utf8)
            case nil: TokenGuard.Guess(atAccount: "".utf8)
            }
        guard guesses.decide(guess, isRight: isValid, from: network, now: now) == .braked else { return true }
        events.report(
            .clientRefused, about: "account",
            "\(network) sends wrong credentials of accounts and has to wait (\(guesses.wrong) were wrong since the start)"
        )
        return false
    }
}

extension VendorService {
    fileprivate init(_ settings: Configuration) {
        self.init(
            accounts: settings.accounts.map { ServiceAccount($0) }, addresses: settings.listen.advertisedAddresses,
            crypto: OpenSSLCrypto(), dataText: { $0.dataText })
    }
}
