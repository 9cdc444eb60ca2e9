import HTTPDNS

extension StatusReport {
    /// The state of a provider, address or server as a source of answers.
    package enum State: String, Sendable {
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
    }

    /// A provider.
    package struct Provider: JSONRecord {
        package var name = ""
        /// The `type` in the configuration.
        package var type = ""
        package var url = ""
        /// Whether its answers can be neither forged nor replayed on the path.
        package var isAuthenticated = true
        package var state = State.used
        /// Seconds until it is queried again; nil while it is used.
        package var retry: Int?
        /// When an exhausted one is asked again; else empty.
        package var exhaustedUntil = ""
        /// Calls sent since 00:00 UTC, and the most per day; 0: no limit.
        package var callsToday = 0
        package var dailyLimit = 0
        /// The same since the first of the month, and what it will be at the month's end; nil while too little is known.
        package var callsThisMonth = 0
        package var monthlyLimit = 0
        package var callsForecast: Int?
        /// The calls of the fleet that counts together, as they were last seen; nil while that is unknown.
        package var fleetToday: Int?
        package var fleetThisMonth: Int?
        /// Servers that count together; nil: this one counts by itself.
        package var fleetServers: Int?
        /// Why the fleet's calls cannot be counted now.
        package var fleetError = ""
        /// Answers, as the vendor counts them; 0 where it bills none.
        package var billedToday = 0
        package var billedThisMonth = 0
        package var billedForecast: Int?
        /// Seconds by which its clock is ahead of ours, as far as known from its responses.
        package var clockOffset = 0
        package var addresses: [Address] = []

        package init() {}

        package static let members: [JSONMember<Self>] = [
            .init("name", \.name),
            .init("type", \.type),
            .init("url", \.url),
            .init("authenticated", \.isAuthenticated),
            .init("state", word: \.state),
            .init("retry_seconds", \.retry),
            .init { $1.member("requests", $0.addresses.reduce(0) { $0 + $1.requests }) },
            .init { $1.member("failures", $0.addresses.reduce(0) { $0 + $1.failures }) },
            .init("calls_today", \.callsToday),
            .init("daily_limit", \.dailyLimit),
            .init("exhausted_until", \.exhaustedUntil),
            .init("calls_this_month", \.callsThisMonth),
            .init("monthly_limit", \.monthlyLimit),
            .init("calls_forecast", \.callsForecast),
            .init("fleet_today", \.fleetToday),
            .init("fleet_this_month", \.fleetThisMonth),
            .init("fleet_servers", \.fleetServers),
            .init("fleet_error", \.fleetError),
            .init("billed_today", \.billedToday),
            .init("billed_this_month", \.billedThisMonth),
            .init("billed_forecast", \.billedForecast),
            .init("clock_offset_seconds", \.clockOffset),
            .init("addresses", records: \.addresses),
        ]
    }

    /// One address of a provider's service.
    package struct Address: JSONRecord {
        /// Address and port.
        package var address = ""
        package var state = State.used
        /// Seconds until it is queried again; nil while it is used.
        package var retry: Int?
        /// Requests sent since it is known, and how many of these failed.
        package var requests = 0
        package var failures = 0
        /// Time until its responses begin, in milliseconds, a moving average; nil before the first.
        package var responseMilliseconds: Int?
        /// The most requests at once that it is sent, since it has said "not so fast"; nil: as many as there are.
        package var pace: Int?
        /// Why the last one failed, and how many seconds ago.
        package var lastError: String?
        package var lastErrorAge: Int?

        package init() {}

        package static let members: [JSONMember<Self>] = [
            .init("address", \.address),
            .init("state", word: \.state),
            .init("retry_seconds", \.retry),
            .init("requests", \.requests),
            .init("failures", \.failures),
            .init("response_ms", \.responseMilliseconds),
            .init("pace", \.pace),
            .init("last_error", \.lastError),
            .init("last_error_seconds", \.lastErrorAge),
        ]
    }

    /// A DNS server of LocalDNS or of a `forward` entry.
    package struct Server: JSONRecord {
        /// Address and port.
        package var address = ""
        package var state = State.used
        /// Seconds until it is queried first again; nil while it is.
        package var retry: Int?
        /// The number of its group, counted from 1; nil where there is one group.
        package var group: Int?

        package init() {}

        package init(address: String, state: State, retry: Int?, group: Int? = nil) {
            self.address = address
            self.state = state
            self.retry = retry
            self.group = group
        }

        package static let members: [JSONMember<Self>] = [
            .init("address", \.address),
            .init("state", word: \.state),
            .init("retry_seconds", \.retry),
            .init("group", \.group),
        ]
    }

    /// A `[[forward]]` entry.
    package struct Forward: JSONRecord {
        package var suffixes: [String] = []
        package var servers: [Server] = []

        package init() {}

        package init(suffixes: [String], servers: [Server]) {
            self.suffixes = suffixes
            self.servers = servers
        }

        package static let members: [JSONMember<Self>] = [
            .init("suffixes", strings: \.suffixes),
            .init("servers", records: \.servers),
        ]
    }
}
