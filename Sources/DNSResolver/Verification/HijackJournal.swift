package import DNSWire
package import Scheduling

/// A journal of detected forgeries: addresses that LocalDNS gave for protected names and whose certificates are not the
/// names'.
///
/// Evidence for operators of the network. The certificate of a captive portal, which unrelated names show, is none: it is
/// reported once, and nothing of it is recorded. At most `capacity` pairs of a name and an address, and at most `ownersLimit`
/// of one owner's names: clients choose names. Beyond it the one that was seen longest ago is dropped.
@Loop
package final class HijackJournal {
    package nonisolated static let capacity = 256
    /// Entries of names that end in the same two labels.
    package nonisolated static let ownersLimit = 8

    /// The most servers that are counted apart: a network may announce any number of them, one after the other.
    package nonisolated static let serversLimit = 32
    package nonisolated static let otherServers = "other"
    private nonisolated static let sightingLimit = 32

    private struct Key: Hashable {
        let name: Name
        let address: IPAddress
    }

    /// How many checks have failed since the start, including dropped entries.
    package private(set) var total = 0
    /// The same by the server of LocalDNS that gave the address; servers beyond the limit are under `otherServers`.
    package private(set) var totals: [String: Int] = [:]
    private var held: [Key: HijackedAddress] = [:]
    /// The forged addresses of the last `CaptivePortal.memory` seconds, the latest first, recorded or not.
    package private(set) var sightings: [HijackedAddress] = []
    /// The certificate that unrelated names have shown, by its fingerprint, and until when it counts as a portal's.
    private var portal: (certificate: String, until: Int64)?
    /// The keys in the order in which the entries were last seen.
    private var order: [Key] = []
    private let timeOfDay: @Sendable () -> Int64
    private let report: @Loop (ResolverEvent) -> Void

    /// - Parameters:
    ///   - timeOfDay: seconds since 1970: evidence is of use only with the actual time.
    ///   - report: called for every failed check.
    package nonisolated init(
        timeOfDay: @escaping @Sendable () -> Int64, report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.timeOfDay = timeOfDay
        self.report = report
    }

    /// Called for each entry that is new or has changed.
    package var onRecord: (@Loop (HijackedAddress) -> Void)?
    /// Called for each entry that turns out to be a portal's.
    package var onRemove: (@Loop (HijackedAddress) -> Void)?

    /// Restores the entries of an earlier process, as older than the present ones; given from the newest to the oldest.
    package func restore(_ earlier: [HijackedAddress]) {
        for entry in earlier where order.count < Self.capacity {
            let key = Key(name: entry.name, address: entry.address)
            guard held[key] == nil else { continue }
            held[key] = entry
            order.insert(key, at: 0)
        }
    }

    /// The entries, the one seen last first.
    package var entries: [HijackedAddress] { order.reversed().compactMap { held[$0] } }

    /// The entries of one name in lower case, the one seen last first.
    package func entries(of name: Name) -> [HijackedAddress] { entries.filter { $0.name == name } }

    func record(
        _ name: Name, _ address: IPAddress, from server: String, port: UInt16, _ evidence: CertificateEvidence
    ) {
        total += 1
        let isCounted = totals[server] != nil || totals.count < Self.serversLimit
        totals[isCounted ? server : Self.otherServers, default: 0] += 1
        let key = Key(name: name, address: address)
        let now = timeOfDay()
        let sighting = HijackedAddress(
            name: name, address: address, server: server, port: port, evidence: evidence, first: now, last: now,
            count: 1)
        if isOfPortal(sighting, at: now) { return }
        let earlier = held[key]
        let entry = HijackedAddress(
            name: name, address: address, server: server, port: port, evidence: evidence, first: earlier?.first ?? now,
            last: now, count: (earlier?.count ?? 0) + 1)
        held[key] = entry
        order.removeAll { $0 == key }
        order.append(key)
        if order.count > Self.ownersLimit { limitOwner(of: name) }
        if order.count > Self.capacity { held[order.removeFirst()] = nil }
        report(.addressForged(entry))
        onRecord?(entry)
    }

    /// Whether unrelated names show its certificate. What was recorded of that before is removed.
    private func isOfPortal(_ sighting: HijackedAddress, at now: Int64) -> Bool {
        sightings =
            [sighting] + sightings.filter { $0.last > now - CaptivePortal.memory }.prefix(Self.sightingLimit - 1)
        let certificate = sighting.evidence.fingerprint
        guard
            CaptivePortal.isShared(certificate, in: sightings)
                || portal?.certificate == certificate && isPortalSeen(now)
        else { return false }
        if portal?.certificate != certificate || !isPortalSeen(now) { report(.connectionsIntercepted(sighting)) }
        portal = (certificate, now + CaptivePortal.memory)
        for key in order {
            guard let entry = held[key], entry.evidence.fingerprint == certificate,
                entry.last > now - CaptivePortal.memory
            else { continue }
            held[key] = nil
            onRemove?(entry)
        }
        order.removeAll { held[$0] == nil }
        return true
    }

    private func isPortalSeen(_ now: Int64) -> Bool { portal.map { now <= $0.until } ?? false }

    /// What was seen says nothing of another network.
    package func networkChanged() { (sightings, portal) = ([], nil) }

    private func limitOwner(of name: Name) {
        let owner = name.owner
        guard order.count(where: { $0.name.owner == owner }) > Self.ownersLimit,
            let oldest = order.firstIndex(where: { $0.name.owner == owner })
        else { return }
        held[order.remove(at: oldest)] = nil
    }
}

extension Name {
    /// Its last two labels: names that share them mostly have one owner.
    var owner: Name {
        var name = self
        for _ in 0..<max(0, labels.count - 2) { name = name.parent ?? .root }
        return name
    }
}
