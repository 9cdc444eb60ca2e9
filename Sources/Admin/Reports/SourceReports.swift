public import HTTPDNS

extension StatusReport {
    /// The state of a provider, address or server as a source of answers.
    public enum State: String, JSONValue {
        case used
        /// In backoff after failures.
        case inBackoff = "in backoff"
        /// The backoff is over: the next question is a probe.
        case probeDue = "probe due"
        /// It refuses the account, signature or token.
        case refused
        /// It is part of a forwarding loop, sending our own queries back to us, and is not queried.
        case loop = "forwarding loop"
        /// Its daily limit of calls is used up.
        case exhausted
        /// Its vendor has disabled it.
        case disabled

        /// Whether questions go to it: nothing is known against it, or it is some time ago.
        public var isAsked: Bool { self == .used || self == .probeDue }
    }

    /// A provider.
    public struct Provider: JSONRecord {
        @Member("name") public var name = ""
        /// The `type` in the configuration.
        @Member("type") public var type = ""
        @Member("url") public var url = ""
        /// Whether its answers can be neither forged nor replayed on the path.
        @Member("authenticated") public var isAuthenticated = true
        @Member("state") public var state = State.used
        /// Seconds until it is queried again; nil while it is used.
        @Member("retry_seconds") public var retry: Int?
        /// When an exhausted one is asked again; else empty.
        @Member("exhausted_until") public var exhaustedUntil = ""
        /// Calls sent since 00:00 UTC, and the most per day; 0: no limit.
        @Member("calls_today") public var callsToday = 0
        @Member("daily_limit") public var dailyLimit = 0
        /// The same since the first of the month, and what it will be at the month's end; nil while too little is known.
        @Member("calls_this_month") public var callsThisMonth = 0
        @Member("monthly_limit") public var monthlyLimit = 0
        @Member("calls_forecast") public var callsForecast: Int?
        /// The calls of the fleet that counts together, as they were last seen; nil while that is unknown.
        @Member("fleet_today") public var fleetToday: Int?
        @Member("fleet_this_month") public var fleetThisMonth: Int?
        /// Servers that count together; nil: this one counts by itself.
        @Member("fleet_servers") public var fleetServers: Int?
        /// Why the fleet's calls cannot be counted now.
        @Member("fleet_error") public var fleetError = ""
        /// Answers, as the vendor counts them; 0 where it bills none.
        @Member("billed_today") public var billedToday = 0
        @Member("billed_this_month") public var billedThisMonth = 0
        @Member("billed_forecast") public var billedForecast: Int?
        /// Seconds by which its clock is ahead of ours, as far as known from its responses.
        @Member("clock_offset_seconds") public var clockOffset = 0
        @Member("addresses") public var addresses: [Address] = []

        public init() {}

        public func writeMembers(to writer: inout JSONWriter) {
            writeOwnMembers(to: &writer)
            writer.member("requests", addresses.reduce(0) { $0 + $1.requests })
            writer.member("failures", addresses.reduce(0) { $0 + $1.failures })
        }
    }

    /// One address of a provider's service.
    public struct Address: JSONRecord {
        /// Address and port.
        @Member("address") public var address = ""
        @Member("state") public var state = State.used
        /// Seconds until it is queried again; nil while it is used.
        @Member("retry_seconds") public var retry: Int?
        /// Requests sent since it is known, and how many of these failed.
        @Member("requests") public var requests = 0
        @Member("failures") public var failures = 0
        /// Time until its responses begin, in milliseconds, a moving average; nil before the first.
        @Member("response_ms") public var responseMilliseconds: Int?
        /// The most requests at once that it is sent, since it has said "not so fast"; nil: as many as there are.
        @Member("pace") public var pace: Int?
        /// Why the last one failed, and how many seconds ago.
        @Member("last_error") public var lastError: String?
        @Member("last_error_seconds") public var lastErrorAge: Int?

        public init() {}
    }

    /// A DNS server of LocalDNS or of a `forward` entry.
    public struct Server: JSONRecord {
        /// Address and port.
        @Member("address") public var address = ""
        @Member("state") public var state = State.used
        /// Seconds until it is queried first again; nil while it is.
        @Member("retry_seconds") public var retry: Int?
        /// The number of its group, counted from 1; nil where there is one group.
        @Member("group") public var group: Int?

        public init(address: String, state: State, retry: Int?, group: Int? = nil) {
            (self.address, self.state, self.retry, self.group) = (address, state, retry, group)
        }
    }

    /// A `[[forward]]` entry.
    public struct Forward: JSONRecord {
        @Member("suffixes") public var suffixes: [String] = []
        @Member("servers") public var servers: [Server] = []

        public init(suffixes: [String], servers: [Server]) { (self.suffixes, self.servers) = (suffixes, servers) }
    }
}

extension StatusReport.Provider {
    /// A line for the provider, and one for each address.
    var rows: [[String]] {
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
    var text: String {
        var text = "\(address) \(StatusReport.stateText(state, retry)); "
        text += "\(counted(requests, "request")), \(counted(failures, "failure"))"
        if let responseMilliseconds { text += ", replies in \(responseMilliseconds) ms" }
        if let pace { text += ", \(pace) at once: it says \"not so fast\"" }
        if let lastError { text += "; last failure \((lastErrorAge ?? 0).durationText) ago: \(lastError)" }
        return text
    }
}

extension StatusReport.Server {
    var text: String {
        "\(address) \(StatusReport.stateText(state, retry))" + (group.map { ", group \($0)" } ?? "")
    }
}

extension StatusReport {
    fileprivate static func stateText(_ state: State, _ retry: Int?) -> String {
        retry.map { "\(state.rawValue) for \($0) s" } ?? state.rawValue
    }
}
