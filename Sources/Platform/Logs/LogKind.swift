public import Logging

/// The kinds of log messages: a name, which does not change between versions, and a level.
public enum LogKind: String, CaseIterable, Sendable {
    // MARK: Start and end
    case configurationWarning = "configuration.warning"
    case startDescriptors = "start.descriptors"
    case startMemory = "start.memory"
    case startIPv4Only = "start.ipv4_only"
    case startAddressAbsent = "start.address_absent"
    case startSocketsAdopted = "start.sockets_adopted"
    case startSocketsClosed = "start.sockets_closed"
    case startNotReplaced = "start.not_replaced"
    case startAuthorities = "start.authorities"
    case startControlSocket = "start.control_socket"
    case startMonitor = "start.monitor"
    case startUser = "start.user"
    case startRoot = "start.root"
    case startSandbox = "start.sandbox"
    case startServing = "start.serving"
    case serviceManager = "service_manager"
    case startFailed = "start.failed"
    case notReplaced = "not_replaced"
    case stop = "stop"

    // MARK: Operators' commands
    case reloadTaken = "reload.taken"
    case reloadRefused = "reload.refused"
    case reloadRestartNeeded = "reload.restart_needed"
    case switchOn = "switch.on"
    case switchOff = "switch.off"

    // MARK: The signed policy
    case policyTaken = "policy.taken"
    case policyRefused = "policy.refused"
    case policyUnavailable = "policy.unavailable"
    case policyExpired = "policy.expired"

    // MARK: Upstreams
    case providerBackoff = "provider.backoff"
    case providerPace = "provider.pace"
    case providerAddressBack = "provider.address_back"
    case providerCertificateRefused = "provider.certificate_refused"
    case providerCertificateAccepted = "provider.certificate_accepted"
    case providerClock = "provider.clock"
    case providerLimitNear = "provider.limit_near"
    case providerLimit = "provider.limit"
    case providerBilled = "provider.billed"
    case providerFleetUncounted = "provider.fleet_uncounted"
    case providerFleetCounted = "provider.fleet_counted"
    case providerRefused = "provider.refused"
    case providerAccepted = "provider.accepted"
    case providerAddresses = "provider.addresses"
    case providerAddressesUnavailable = "provider.addresses_unavailable"
    case providerDisabled = "provider.disabled"
    case providerEnabled = "provider.enabled"
    case localDNSNoServers = "localdns.no_servers"
    case localDNSServerSilent = "localdns.server_silent"
    case localDNSServerBack = "localdns.server_back"
    case localDNSForged = "localdns.forged"
    case localDNSServerLoops = "localdns.server_loops"
    case localDNSServerLoopEnded = "localdns.server_loop_ended"

    // MARK: The clock
    case clockDoubted = "clock.doubted"
    case clockTrusted = "clock.trusted"

    // MARK: The network
    case networkChanged = "network.changed"
    case networkUnwatched = "network.unwatched"
    case networkIntercepted = "network.intercepted"
    case networkNAT64 = "network.nat64"
    case resolverRewritten = "resolver.rewritten"

    // MARK: The disk
    case diskUnavailable = "disk.unavailable"
    case diskBack = "disk.back"
    case diskQuarantined = "disk.quarantined"
    case diskLoaded = "disk.loaded"

    // MARK: The certificate of encrypted listeners
    case certificateTaken = "certificate.taken"
    case certificateRefused = "certificate.refused"
    case certificateExpires = "certificate.expires"

    // MARK: The shared cache
    case sharedUnavailable = "shared.unavailable"
    case sharedBack = "shared.back"
    case sharedRefused = "shared.refused"
    case sharedDamaged = "shared.damaged"

    // MARK: Questions
    case answerFailed = "answer.failed"
    case answerStale = "answer.stale"
    case answerPreset = "answer.preset"
    case clientRefused = "client.refused"
    case limitQueries = "limit.queries"
    case limitMisses = "limit.misses"
    case limitConnections = "limit.connections"
    case query = "query"

    // MARK: The log itself
    case logDropped = "log.dropped"
    case logQueriesDropped = "log.queries_dropped"
    case dnstapUnavailable = "dnstap.unavailable"
    case dnstapConnected = "dnstap.connected"
    case dnstapDropped = "dnstap.dropped"

    public var level: Logger.Level {
        switch self {
        case .startMemory, .startUser, .startSandbox, .startServing, .startSocketsAdopted, .query, .diskLoaded,
            .providerAddresses, .providerBilled:
            .info
        case .stop, .startSocketsClosed, .reloadTaken, .switchOn, .switchOff, .policyTaken, .providerAddressBack,
            .providerCertificateAccepted, .providerAccepted, .providerFleetCounted, .providerEnabled, .providerPace,
            .localDNSServerBack, .localDNSServerLoopEnded, .networkChanged, .networkNAT64, .clockTrusted, .answerStale,
            .answerPreset, .certificateTaken, .diskBack, .sharedBack, .dnstapConnected:
            .notice
        case .startAuthorities, .reloadRefused, .policyRefused, .providerCertificateRefused,
            .providerRefused, .diskQuarantined, .certificateRefused:
            .error
        case .startFailed: .critical
        default: .warning
        }
    }

    /// The name of the field with the kind, which in JSON is a member of the object.
    static let field = "event"

    /// The fields of a line of this kind.
    ///
    /// - Parameter others: all but that of the kind.
    func fields(_ others: Logger.Metadata) -> Logger.Metadata {
        others.merging([Self.field: "\(rawValue)"]) { $1 }
    }
}

extension Logger {
    /// Logs a message that cannot be frequent; messages caused by faults or clients go through `EventLog`.
    ///
    /// - Parameter fields: further members of the JSON object; the text has the same content.
    public func log(_ kind: LogKind, _ text: @autoclosure () -> String, _ fields: Logger.Metadata = [:]) {
        log(level: kind.level, "\(text())", metadata: kind.fields(fields))
    }
}
