package import HTTPDNS

/// What `status` tells of a running server.
package struct StatusReport: JSONRecord {
    package var version = ""
    package var pid = 0
    /// Seconds since the start.
    package var uptime = 0
    /// Path of the configuration file.
    package var configuration = ""
    /// How often it was read again and taken.
    package var reloads = 0
    /// Of the policy; raised whenever questions are to be decided anew.
    package var generation = 0
    /// Whether HTTPDNS is used.
    package var isOn = true
    package var mode = ""
    package var listen: [String] = []
    /// In the order in which they are asked.
    package var providers: [Provider] = []
    package var localDNS: [Server] = []
    package var forwards: [Forward] = []
    /// How often the network has changed since the start, and how many seconds ago it last did.
    package var networkChanges = 0
    package var networkChangeAge: Int?
    package var cache = Cache()
    /// Questions under way upstream, and clients that wait for them.
    package var flights = 0
    package var waiters = 0
    /// Queries that wait for an answer, and open TCP connections.
    package var queries = 0
    package var connections = 0
    /// How many addresses are reported as bad.
    package var badAddresses = 0
    /// How many checks of LocalDNS's addresses found a lie, and the last of them.
    package var forgedChecks = 0
    package var forged: [ForgedAddress] = []
    /// Names given by hand: answered without asking anyone, and answered when nobody else can; a wildcard counts as one.
    package var presets = 0
    package var lastResorts = 0
    /// How many answers came from the latter.
    package var lastResortAnswers = 0

    package init() {}

    /// Providers whose answers can be forged on the path.
    package var forgeable: [String] { providers.filter { !$0.isAuthenticated }.map(\.name) }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "version": version = try reader.string()
        case "pid": pid = try reader.int()
        case "uptime_seconds": uptime = try reader.int()
        case "config": configuration = try reader.string()
        case "reloads": reloads = try reader.int()
        case "generation": generation = try reader.int()
        case "switch": isOn = try reader.string() == "on"
        case "mode": mode = try reader.string()
        case "listen": listen = try reader.strings()
        case "providers": providers = try reader.records()
        case "localdns": localDNS = try reader.records()
        case "forwards": forwards = try reader.records()
        case "network_changes": networkChanges = try reader.int()
        case "network_change_seconds": networkChangeAge = try reader.optionalInt()
        case "cache": cache = try Cache(from: &reader)
        case "flights": flights = try reader.int()
        case "waiters": waiters = try reader.int()
        case "queries": queries = try reader.int()
        case "connections": connections = try reader.int()
        case "bad_addresses": badAddresses = try reader.int()
        case "forged_checks": forgedChecks = try reader.int()
        case "forged": forged = try reader.records()
        case "presets": presets = try reader.int()
        case "last_resorts": lastResorts = try reader.int()
        case "last_resort_answers": lastResortAnswers = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("pid", pid)
        writer.member("uptime_seconds", uptime)
        writer.member("config", configuration)
        writer.member("reloads", reloads)
        writer.member("generation", generation)
        writer.member("switch", isOn ? "on" : "off")
        writer.member("mode", mode)
        writer.member("listen", strings: listen)
        writer.member("providers", records: providers)
        writer.member("localdns", records: localDNS)
        writer.member("forwards", records: forwards)
        writer.member("network_changes", networkChanges)
        writer.member("network_change_seconds", networkChangeAge)
        writer.member("cache", object: { cache.write(to: &$0) })
        writer.member("flights", flights)
        writer.member("waiters", waiters)
        writer.member("queries", queries)
        writer.member("connections", connections)
        writer.member("bad_addresses", badAddresses)
        writer.member("forged_checks", forgedChecks)
        writer.member("forged", records: forged)
        writer.member("presets", presets)
        writer.member("last_resorts", lastResorts)
        writer.member("last_resort_answers", lastResortAnswers)
        writer.member("forgeable", strings: forgeable)
    }
}

extension StatusReport {
    /// Whether something that can be asked is asked.
    package enum State: String, Sendable {
        case used
        /// Left alone after failures.
        case setAside = "set aside"
        /// The next question tries it again.
        case onTrial = "on trial"
        /// It refuses the account, signature or token.
        case refused
        /// It sends our own questions back to us, and is not asked.
        case loops = "leads back here"
        /// Its calls of the day are used up.
        case exhausted
        /// Its vendor has disabled it.
        case disabled
    }

    /// A provider.
    package struct Provider: JSONRecord {
        package var name = ""
        /// As `type` in the configuration.
        package var type = ""
        package var url = ""
        /// Whether its answers cannot be forged on the path.
        package var isAuthenticated = true
        package var state = State.used
        /// Seconds until it is asked again; nil while it is used.
        package var retry: Int?
        /// Calls sent since 00:00 UTC, and the most there may be on a day; 0: no limit.
        package var callsToday = 0
        package var dailyLimit = 0
        /// Seconds by which its clock is ahead of ours, as far as it was told.
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
            writer.member("clock_offset_seconds", clockOffset)
            writer.member("addresses", records: addresses)
        }
    }

    /// One address of a provider's service.
    package struct Address: JSONRecord {
        /// With the port.
        package var address = ""
        package var state = State.used
        /// Seconds until it is asked again; nil while it is used.
        package var retry: Int?
        /// Asked since it is known, and how many of these got no answer.
        package var requests = 0
        package var failures = 0
        /// How soon its replies begin, a moving average; nil before the first.
        package var responseMilliseconds: Int?
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
            writer.member("last_error", lastError)
            writer.member("last_error_seconds", lastErrorAge)
        }
    }

    /// A DNS server that is asked: of LocalDNS, or of a `forward` entry.
    package struct Server: JSONRecord {
        /// With the port.
        package var address = ""
        package var state = State.used
        /// Seconds until it is asked first again; nil while it is.
        package var retry: Int?

        package init() {}

        package init(address: String, state: State, retry: Int?) {
            self.address = address
            self.state = state
            self.retry = retry
        }

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "address": address = try reader.string()
            case "state": state = State(rawValue: try reader.string()) ?? .used
            case "retry_seconds": retry = try reader.optionalInt()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("address", address)
            writer.member("state", state.rawValue)
            writer.member("retry_seconds", retry)
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

    /// The memory cache.
    package struct Cache: JSONRecord {
        package var entries = 0
        /// In use, and the most there may be.
        package var bytes = 0
        package var limit = 0
        /// Queries answered from it at once, and those that were not.
        package var hits = 0
        package var misses = 0
        /// Of the latter, those that got a stale answer in the end.
        package var stale = 0
        /// Answers that were asked for again before they expired.
        package var refreshes = 0
        /// The file that keeps answers over a restart; empty: none.
        package var file = ""
        /// How it stands with it, and why it is not used.
        package var fileState = ""
        package var fileError = ""
        /// Answers that came from it, and that were written to it.
        package var loaded = 0
        package var written = 0

        package init() {}

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "file": file = try reader.string()
            case "file_state": fileState = try reader.string()
            case "file_error": fileError = try reader.string()
            case "loaded": loaded = try reader.int()
            case "written": written = try reader.int()
            case "entries": entries = try reader.int()
            case "bytes": bytes = try reader.int()
            case "limit": limit = try reader.int()
            case "hits": hits = try reader.int()
            case "misses": misses = try reader.int()
            case "stale": stale = try reader.int()
            case "refreshes": refreshes = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("entries", entries)
            writer.member("bytes", bytes)
            writer.member("limit", limit)
            writer.member("hits", hits)
            writer.member("misses", misses)
            writer.member("stale", stale)
            writer.member("refreshes", refreshes)
            writer.member("file", file)
            writer.member("file_state", fileState)
            writer.member("file_error", fileError)
            writer.member("loaded", loaded)
            writer.member("written", written)
        }
    }
}
