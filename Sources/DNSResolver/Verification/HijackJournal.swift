public import DNSWire

/// A journal of detected forgeries: addresses that LocalDNS gave for protected names and whose certificates are not the
/// names'.
///
/// Evidence for operators of the network. The certificate of a captive portal, which unrelated names show, is none: it is
/// reported once, and nothing of it is recorded. At most `capacity` pairs of a name and an address, and at most `ownersLimit`
/// of one owner's names: clients choose names. Beyond it the one that was seen longest ago is dropped.
@Loop
public final class HijackJournal {
    public nonisolated static let capacity = 256
    /// Entries of names that end in the same two labels.
    public nonisolated static let ownersLimit = 8

    /// The most servers that are counted apart: a network may announce any number of them, one after the other.
    public nonisolated static let serversLimit = 32
    public nonisolated static let otherServers = "other"
    private nonisolated static let sightingLimit = 32

    /// How many checks have failed since the start, including dropped entries.
    public var total: Int { totals.values.reduce(0, +) }
    /// The same by the server of LocalDNS that gave the address; servers beyond the limit are under `otherServers`.
    public private(set) var totals: [String: Int] = [:]
    /// The entries, the one seen last first.
    public private(set) var entries: [HijackedAddress] = []
    /// The forged addresses of the last `CaptivePortal.memory` seconds, the latest first, recorded or not.
    public private(set) var sightings: [HijackedAddress] = []
    /// The certificate that unrelated names have shown, by its fingerprint, and until when it counts as a portal's.
    private var portal: (certificate: String, until: Int64)?
    private let timeOfDay: @Sendable () -> Int64
    private let report: @Loop (ResolverEvent) -> Void

    /// - Parameters:
    ///   - timeOfDay: seconds since 1970: evidence is of use only with the actual time.
    ///   - report: called for every failed check.
    public nonisolated init(
        timeOfDay: @escaping @Sendable () -> Int64, report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.timeOfDay = timeOfDay
        self.report = report
    }

    /// Called for each entry that is new or has changed.
    public var onRecord: (@Loop (HijackedAddress) -> Void)?
    /// Called for each entry that turns out to be a portal's.
    public var onRemove: (@Loop (HijackedAddress) -> Void)?

    /// Restores the entries of an earlier process, as older than the present ones; given from the newest to the oldest.
    public func restore(_ earlier: [HijackedAddress]) {
        for entry in earlier where entries.count < Self.capacity && !entries.contains(where: entry.isSame(as:)) {
            entries.append(entry)
        }
    }

    /// The entries of one name in lower case, the one seen last first.
    public func entries(of name: Name) -> [HijackedAddress] { entries.filter { $0.name == name } }

    func record(
        _ name: Name, _ address: IPAddress, from server: String, port: UInt16, _ evidence: CertificateEvidence
    ) {
        let isCounted = totals[server] != nil || totals.count < Self.serversLimit
        totals[isCounted ? server : Self.otherServers, default: 0] += 1
        let now = timeOfDay()
        var entry = HijackedAddress(
            name: name, address: address, server: server, port: port, evidence: evidence, first: now, last: now,
            count: 1)
        if isOfPortal(entry, at: now) { return }
        if let place = entries.firstIndex(where: entry.isSame(as:)) {
            let earlier = entries.remove(at: place)
            (entry.first, entry.count) = (earlier.first, earlier.count + 1)
        }
        entries.insert(entry, at: 0)
        let ofOwner = entries.indices.filter { entries[$0].name.owner == name.owner }
        if ofOwner.count > Self.ownersLimit { entries.remove(at: ofOwner[Self.ownersLimit]) }
        if entries.count > Self.capacity { entries.removeLast() }
        report(.addressForged(entry))
        onRecord?(entry)
    }

    /// Whether unrelated names show its certificate. What was recorded of that before is removed.
    private func isOfPortal(_ sighting: HijackedAddress, at now: Int64) -> Bool {
        sightings =
            [sighting] + sightings.filter { $0.last > now - CaptivePortal.memory }.prefix(Self.sightingLimit - 1)
        let certificate = sighting.evidence.fingerprint
        let isKnown = portal.map { $0.certificate == certificate && now <= $0.until } ?? false
        guard isKnown || CaptivePortal.isShared(certificate, in: sightings) else { return false }
        if !isKnown { report(.connectionsIntercepted(sighting)) }
        portal = (certificate, now + CaptivePortal.memory)
        let isOfPortal = { (entry: HijackedAddress) in
            entry.evidence.fingerprint == certificate && entry.last > now - CaptivePortal.memory
        }
        for entry in entries where isOfPortal(entry) { onRemove?(entry) }
        entries.removeAll(where: isOfPortal)
        return true
    }

    /// What was seen says nothing of another network.
    public func networkChanged() { (sightings, portal) = ([], nil) }
}
