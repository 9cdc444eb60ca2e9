package import HTTPDNS

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

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "name": name = try reader.string()
            case "type": type = try reader.string()
            case "url": url = try reader.string()
            case "authenticated": isAuthenticated = try reader.boolean()
            case "state": state = State(rawValue: try reader.string()) ?? .used
            case "retry_seconds": retry = try reader.optionalInt()
            case "calls_today": callsToday = try reader.int()
            case "daily_limit": dailyLimit = try reader.int()
            case "exhausted_until": exhaustedUntil = try reader.string()
            case "calls_this_month": callsThisMonth = try reader.int()
            case "monthly_limit": monthlyLimit = try reader.int()
            case "calls_forecast": callsForecast = try reader.optionalInt()
            case "fleet_today": fleetToday = try reader.optionalInt()
            case "fleet_this_month": fleetThisMonth = try reader.optionalInt()
            case "fleet_servers": fleetServers = try reader.optionalInt()
            case "fleet_error": fleetError = try reader.string()
            case "billed_today": billedToday = try reader.int()
            case "billed_this_month": billedThisMonth = try reader.int()
            case "billed_forecast": billedForecast = try reader.optionalInt()
            case "clock_offset_seconds": clockOffset = try reader.int()
            case "addresses": addresses = try reader.records()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("name", name)
            writer.member("type", type)
            writer.member("url", url)
            writer.member("authenticated", isAuthenticated)
            writer.member("state", state.rawValue)
            writer.member("retry_seconds", retry)
            writer.member("requests", addresses.reduce(0) { $0 + $1.requests })
            writer.member("failures", addresses.reduce(0) { $0 + $1.failures })
            writer.member("calls_today", callsToday)
            writer.member("daily_limit", dailyLimit)
            writer.member("exhausted_until", exhaustedUntil)
            writer.member("calls_this_month", callsThisMonth)
            writer.member("monthly_limit", monthlyLimit)
            writer.member("calls_forecast", callsForecast)
            writer.member("fleet_today", fleetToday)
            writer.member("fleet_this_month", fleetThisMonth)
            writer.member("fleet_servers", fleetServers)
            writer.member("fleet_error", fleetError)
            writer.member("billed_today", billedToday)
            writer.member("billed_this_month", billedThisMonth)
            writer.member("billed_forecast", billedForecast)
            writer.member("clock_offset_seconds", clockOffset)
            writer.member("addresses", records: addresses)
        }
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

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "address": address = try reader.string()
            case "state": state = State(rawValue: try reader.string()) ?? .used
            case "retry_seconds": retry = try reader.optionalInt()
            case "requests": requests = try reader.int()
            case "failures": failures = try reader.int()
            case "response_ms": responseMilliseconds = try reader.optionalInt()
            case "pace": pace = try reader.optionalInt()
            case "last_error": lastError = try reader.optionalString()
            case "last_error_seconds": lastErrorAge = try reader.optionalInt()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("address", address)
            writer.member("state", state.rawValue)
            writer.member("retry_seconds", retry)
            writer.member("requests", requests)
            writer.member("failures", failures)
            writer.member("response_ms", responseMilliseconds)
            writer.member("pace", pace)
            writer.member("last_error", lastError)
            writer.member("last_error_seconds", lastErrorAge)
        }
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

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "address": address = try reader.string()
            case "state": state = State(rawValue: try reader.string()) ?? .used
            case "retry_seconds": retry = try reader.optionalInt()
            case "group": group = try reader.optionalInt()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("address", address)
            writer.member("state", state.rawValue)
            writer.member("retry_seconds", retry)
            writer.member("group", group)
        }
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

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "suffixes": suffixes = try reader.strings()
            case "servers": servers = try reader.records()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("suffixes", strings: suffixes)
            writer.member("servers", records: servers)
        }
    }
}
