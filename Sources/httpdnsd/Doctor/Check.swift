import Admin
import Platform

/// One thing that `doctor` looks at. It only reads.
struct Check: Sendable {
    /// The word in front of its lines.
    let subject: String
    /// What is so when nothing is found.
    let well: String
    /// What is wrong; nil where it cannot be known, as from a server that does not run.
    let findings: @Sendable (Examination) -> [Finding]?
    /// The part of it that the running server's own report shows, where that reaches an address by a route of its machine.
    var reported: @Sendable (StatusReport, (SocketAddress) -> Bool) -> [Finding] = { _, _ in [] }

    /// All, in the order in which they are shown: what explains the most comes first.
    static let all = [
        configuration, port, control, reload, route, programs, lookups, lookupOrder, httpdnsSwitch, providers,
        transport, localDNS,
        loop, forgeries, network, clock, diskCache, diskSpace, sharedCache, policy, descriptors, memory, authorities,
        appArmor,
    ]

    /// What a server says of itself.
    ///
    /// - Parameter hasRoute: whether the address of a provider is reached by a route of this machine, or needs none.
    static func testimony(of status: StatusReport, _ hasRoute: (SocketAddress) -> Bool) -> Testimony {
        let findings = all.flatMap { check in check.reported(status, hasRoute).map { (check.subject, $0) } }
        return Testimony(status, findings: findings)
    }

    /// One that looks at what the running server reports.
    static func ofStatus(
        _ subject: String, well: String, _ findings: @escaping @Sendable (StatusReport) -> [Finding]
    ) -> Check {
        Check(
            subject: subject, well: well, findings: { $0.report?.found(by: subject) },
            reported: { status, _ in findings(status) })
    }
}
