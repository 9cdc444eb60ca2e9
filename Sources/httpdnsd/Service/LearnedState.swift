import Configuration
import DNSResolver
import DNSWire
import DiskCache
import Glibc
import Platform
import Upstreams

/// What the daemon learns beside answers: stored, and found by a restart.
@Loop
final class LearnedState {
    private let disk: DiskCache
    private let service: DNSService
    /// Whether HTTPDNS has been switched since the start.
    private var isSwitchUsed = false

    private var composition: Composition { service.composition }

    /// Stores what the service learns from now on, and takes up what the last process stored, as far as this one has not
    /// learned better yet.
    init(of service: DNSService, on disk: DiskCache) {
        self.disk = disk
        self.service = service
        follow()
        Loop.spawn { [self] in await restore() }
    }

    /// Stores everything that is learned from now on. After each change of the composition.
    func follow() {
        for provider in composition.providers {
            provider.upstream.onLearned = { [disk, entry = provider.entry] in disk.keep($0.record(entry)) }
        }
        service.vendors?.onCall = { [disk] account, calls in
            disk.keep(.accountCalls, account, calls.storedText)
        }
        let isAuto = composition.settings.localDNS.groups == nil
        composition.localDNS.onWorking = { [disk] servers in
            guard isAuto else { return }
            disk.keep(.localDNSServers, LocalDNSServer.storedName, servers.storedValue)
        }
        composition.checks.onVerdict = { [unowned self] name, address, verdict, lifetime in
            let until = Int64(time(nil)) + lifetime.components.seconds
            let network = composition.networkText
            disk.keep(.checkVerdict, "\(name) \(address)", "\(verdict.rawValue) \(until) \(network)")
        }
        composition.checks.journal.onRecord = { [disk] entry in
            disk.keep(.journal, "\(entry.name) \(entry.address)", entry.storedValue, at: entry.last)
        }
        composition.checks.journal.onRemove = { [disk] entry in
            disk.forget(.journal, "\(entry.name) \(entry.address)")
        }
    }

    private func restore() async {
        var forged: [HijackedAddress] = []
        for record in await disk.states() {
            switch record.kind {
            case .badAddress: restoreBadAddress(record)
            case .calls, .fleetCalls, .clockOffset, .serviceAddresses:
                if record.kind == .calls, let calls = CallQuota.Record(storedText: record.value),
                    !composition.providers.contains(where: { $0.entry.accountText == record.name })
                {
                    service.restore(calls, ofAbsent: record.name)
                }
                for provider in composition.providers {
                    guard let learned = HTTPDNSProvider.Learned(record, of: provider.entry) else { continue }
                    provider.upstream.restore(learned, at: record.storedAt)
                }
            case .accountCalls:
                if let calls = CallQuota.Record(storedText: record.value) {
                    service.vendors?.restore(calls, of: record.name)
                }
            case .localDNSServers:
                let ours = composition.settings.listen.addresses.map { LocalDNSServer($0) }
                let servers = record.value.split(separator: " ").compactMap { LocalDNSServer(text: $0) }
                composition.localDNS.restore(servers.filter { !ours.contains($0) })
            case .checkVerdict: restoreVerdict(record)
            // The file may have been opened only after the switch was used.
            case .switchedOff:
                guard !isSwitchUsed else { break }
                service.turn(on: false)
                keepSwitch(isOn: false)
            case .journal: if let entry = HijackedAddress(record) { forged.append(entry) }
            case .clock, .source: break
            }
        }
        composition.checks.journal.restore(forged.sorted { $0.last > $1.last })
    }

    /// On another network the same address may be another host.
    func forgetVerdicts() { disk.forgetAll(.checkVerdict) }

    private func restoreVerdict(_ record: StateRecord) {
        let subject = record.name.split(separator: " ")
        let value = record.value.split(separator: " ", maxSplits: 2)
        // What is behind an address holds for one network alone.
        guard subject.count == 2, let name = try? Name(String(subject[0])), let address = IPAddress(subject[1]),
            value.count == 3, let verdict = AddressVerdict(rawValue: String(value[0])), verdict.isDecided,
            value[2] == composition.networkText,
            let until = OutsideNumber(digits: value[1]),
            let rest = (until - Int64(time(nil))).within(1...StateRecord.Kind.checkVerdict.lifetime)
        else { return }
        composition.checks.restore(verdict, on: address, of: name, for: .seconds(rest))
    }

    /// Keeps how the switch stands, so that a restart finds it.
    func keepSwitch(isOn: Bool) {
        isSwitchUsed = true
        if isOn {
            disk.forget(.switchedOff, "httpdns")
        } else {
            disk.keep(.switchedOff, "httpdns", "off")
        }
    }

    private func restoreBadAddress(_ record: StateRecord) {
        guard let address = IPAddress(record.name), let until = OutsideNumber(digits: record.value) else { return }
        // While the clock is not set yet, the rest seems to be many years.
        let rest = (until - Int64(time(nil))).clamped(to: 0...BadAddresses.lifetimes.upperBound.components.seconds)
        if rest > 0 { service.reported.report(address, lifetime: .seconds(rest)) }
    }

    /// Keeps for how long a reported address still counts.
    func keepBadAddress(_ address: IPAddress) {
        guard let listed = service.reported.list.first(where: { $0.address == address }) else {
            disk.forget(.badAddress, address.description)
            return
        }
        let until = Int64(time(nil)) + (listed.until - service.loop.now).components.seconds
        disk.keep(.badAddress, address.description, "\(until)")
    }
}

extension DiskCache {
    fileprivate func keep(
        _ kind: StateRecord.Kind, _ name: String, _ value: @autoclosure @escaping @Sendable () -> String,
        at seconds: Int64? = nil
    ) {
        keep(StateRecord(kind, name, value: value(), storedAt: seconds ?? Int64(time(nil))))
    }
}

extension Composition {
    /// By what a network is known again, and what is looked at there.
    fileprivate var networkText: String {
        let ports = checks.ports.map(\.description).joined(separator: ",")
        return localDNS.servers.storedValue + " ports " + ports
    }
}

extension LocalDNSServer {
    /// The one list there is.
    fileprivate static let storedName = "auto"
}

extension [LocalDNSServer] {
    fileprivate var storedValue: String { map(\.description).joined(separator: " ") }
}

extension HTTPDNSProvider.Learned {
    fileprivate func record(_ entry: Configuration.ProviderEntry) -> StateRecord {
        let (kind, text): (StateRecord.Kind, String) =
            switch self {
            case .calls(let record): (.calls, record.storedText)
            case .fleet(let record): (.fleetCalls, record.storedText)
            case .clockOffset(let seconds): (.clockOffset, "\(seconds)")
            case .addresses(let addresses): (.serviceAddresses, addresses.map(\.description).joined(separator: " "))
            }
        return StateRecord(kind, entry.storedName(of: kind) ?? "", value: text, storedAt: Int64(time(nil)))
    }

    /// Nil for what is not of this provider, or makes no sense.
    fileprivate init?(_ record: StateRecord, of entry: Configuration.ProviderEntry) {
        guard record.name == entry.storedName(of: record.kind) else { return nil }
        switch record.kind {
        case .calls:
            guard let calls = CallQuota.Record(storedText: record.value) else { return nil }
            self = .calls(calls)
        case .fleetCalls:
            guard let calls = FleetRecord(storedText: record.value) else { return nil }
            self = .fleet(calls)
        case .clockOffset:
            guard let seconds = Int64(record.value) else { return nil }
            self = .clockOffset(seconds)
        case .serviceAddresses:
            let texts = record.value.split(separator: " ").map(String.init)
            self = .addresses(texts.compactMap { SocketAddress($0, defaultPort: entry.url.port) })
        default: return nil
        }
    }
}

extension Configuration.ProviderEntry {
    /// Whose calls are counted.
    var accountText: String { "\(type.rawValue) \(name) \(account)" }

    /// Calls belong to an account, time to a service, addresses to a host, or those that a service returned to an account; nil
    /// for what is not learned of a provider.
    fileprivate func storedName(of kind: StateRecord.Kind) -> String? {
        switch kind {
        case .calls, .fleetCalls: accountText
        case .clockOffset: "\(url)"
        case .serviceAddresses:
            startupAddresses.isEmpty ? "\(url.host)" : "\(url) \(region.rawValue) \(account)"
        case .accountCalls, .localDNSServers, .badAddress, .checkVerdict, .journal, .switchedOff, .clock, .source: nil
        }
    }
}

extension HijackedAddress {
    /// Lines; certificates' names have no line breaks.
    fileprivate var storedValue: String {
        let evidence = [evidence.reason, evidence.subject, evidence.issuer, evidence.fingerprint]
        return (["\(port)", "\(first)", "\(count)"] + evidence + [server]).joined(separator: "\n")
    }

    /// What can be shown as a date, 1970 to 9999.
    private static let years: ClosedRange<Int64> = 0...253_402_300_799

    /// Nil for what makes no sense.
    fileprivate init?(_ record: StateRecord) {
        let subject = record.name.split(separator: " ")
        let lines = record.value.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard subject.count == 2, let name = try? Name(String(subject[0])), let address = IPAddress(subject[1]),
            lines.count == 8, let port = UInt16(lines[0]),
            let first = OutsideNumber(digits: lines[1])?.within(Self.years),
            let count = OutsideNumber(digits: lines[2])?.within(1...Int(Int32.max)),
            Self.years.contains(record.storedAt)
        else { return nil }
        self.init(
            name: name, address: address, server: lines[7], port: port,
            evidence: CertificateEvidence(
                reason: lines[3], subject: lines[4], issuer: lines[5], fingerprint: lines[6]),
            first: first, last: record.storedAt, count: count)
    }
}

extension CallQuota.Record {
    /// As it is stored on disk: day, month, and when counting for the month began.
    var storedText: String {
        "\(day.storedText) \(month.storedText) \(since ?? 0)"
    }

    /// Nil for what makes no sense.
    init?(storedText: String) {
        let words = storedText.split(separator: " ")
        let numbers = words.compactMap { Int64($0) }
        guard words.count == 7, numbers.count == 7, let day = CallCount(stored: numbers[0..<3]),
            let month = CallCount(stored: numbers[3..<6])
        else { return nil }
        self.init(day: day, month: month, since: numbers[6])
    }
}

extension CallCount {
    fileprivate var storedText: String { "\(period) \(calls) \(billed)" }

    fileprivate init?(stored: ArraySlice<Int64>) {
        let numbers = Array(stored)
        guard numbers.count == 3, numbers[1] >= 0, numbers[2] >= 0 else { return nil }
        self.init(period: numbers[0], calls: Int(numbers[1]), billed: Int(numbers[2]))
    }
}
