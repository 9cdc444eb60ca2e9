import Admin
import DNSCache
import DNSResolver
import DNSWire
import DiskCache
import Logs
import Platform
import Upstreams
import Scheduling

/// What the control API asks and tells.
extension DNSService: ControlTarget {
    // MARK: The cache

    func cached(below suffix: Name?, limit: Int, cursor: String?, withRecords: Bool) async -> CacheReport? {
        guard let start = cursor.map({ CacheCursor($0) }) ?? .start else { return nil }
        let (answers, next) = await store.answers(from: start, limit: limit) { name in
            suffix.map { name.isWithin($0) } ?? true
        }
        return CacheReport(entries: answers.map { entry(of: $0, withRecords: withRecords) }, next: next?.description)
    }

    func cached(_ name: Name) async -> CacheReport {
        let (answers, _) = await store.answers(from: .start, limit: .max) { $0 == name }
        let forged = composition.checks.journal.entries(of: name).prefix(ForgedAddress.limit)
        return CacheReport(
            entries: answers.map { entry(of: $0, withRecords: true) }, next: nil,
            forged: forged.map { ForgedAddress($0) })
    }

    func why(_ name: Name) -> WhyReport {
        let question = Question(name: name, type: .a)
        let client = ClientQuestion(
            question: question, key: QueryKey(question, dnssecOK: false, checkingDisabled: false),
            client: .v4(0x7f00_0001),
            arrived: loop.now)
        return WhyReport(lines: resolver.explanation(of: name, for: client))
    }

    func trace(_ question: Question) async -> TraceReport {
        let (trace, response) = await resolver.trace(question)
        var report = TraceReport()
        report.name = question.name.description
        report.type = question.type.description
        report.status = response.responseCode.description
        report.source = response.kind.word
        report.steps = trace.steps.map {
            .init(milliseconds: Int($0.after / .milliseconds(1)), kind: $0.kind.rawValue, text: $0.text)
        }
        return report
    }

    func flush(_ what: AnswerRemoval) async -> FlushReport {
        // Else the next question would bring the same answer back.
        if case .name(let name) = what { composition.shared?.remove(name) }
        let removed = await resolver.remove(what)
        _ = await settle()
        return FlushReport(removed: removed)
    }

    private func entry(of cached: CachedAnswer, withRecords: Bool) -> CacheReport.Entry {
        let source = resolver.sourceName(of: cached)
        var report = CacheReport.Entry(
            Question(name: cached.name, type: cached.type), cached.entry.answer,
            isSigned: cached.dnssecOK || cached.checkingDisabled, isNegative: cached.entry.isNegative,
            age: Int(cached.entry.age(at: loop.now)), lifetime: Int(cached.entry.lifetime),
            source: source, withRecords: withRecords)
        // Also what was answered on another network.
        report.isStale = store.isStale(cached.entry)
        report.isUnusable = !resolver.isUsable(cached)
        report.clients = cached.scope.map { $0.network?.description ?? "no network" } ?? ""
        report.server = store.serverNames.name(of: cached.entry.server)
        return report
    }

    // MARK: The switch

    func turn(on isOn: Bool) async -> SwitchReport {
        setSwitch(isOn)
        // As it stands when this is written: another command may have come.
        let isStored = if let switchFile { await switchFile.store(isOn: resolver.isOn) } else { await settle() }
        return SwitchReport(
            isOn: resolver.isOn && !policy.switchesOff, isOffByPolicy: policy.switchesOff, isStored: isStored,
            generation: Int(generation.current))
    }

    /// The switch alone, which is written later.
    func setSwitch(_ isOn: Bool) {
        if isOn != resolver.isOn {
            resolver.turn(on: isOn)
            composition.hosts.routes = routesInForce
            tellDiskOfPolicy()
            log.logger.log(
                isOn ? .switchOn : .switchOff,
                isOn
                    ? "HTTPDNS is switched on again"
                    : "HTTPDNS is switched off: its names go to LocalDNS, until it is switched on"
            )
        }
        keepSwitch()
    }

    /// Waits until what a command changed outlasts this process; false where there is no cache on disk that can be used.
    private func settle() async -> Bool { await disk?.settle(clock: loop) ?? false }

    func handOver() async -> HandoverReport? { await onHandover?() }

    // MARK: Bad addresses

    var badAddresses: BadAddressReport { report(removed: 0) }

    func reportBad(_ address: IPAddress, lifetime: Duration) async -> BadAddressReport {
        reported.report(address, lifetime: lifetime)
        keepBadAddress(address)
        // Only now: what is stored meanwhile has the address at its end already.
        let removed = await resolver.remove(holding: address)
        _ = await settle()
        return report(removed: removed)
    }

    func forgetBad(_ address: IPAddress) async -> BadAddressReport? {
        guard reported.remove(address) else { return nil }
        keepBadAddress(address)
        _ = await settle()
        return report(removed: 0)
    }

    private func report(removed: Int) -> BadAddressReport {
        let now = loop.now
        return BadAddressReport(
            addresses: reported.list.map { listed in
                .init(
                    address: listed.address.description, weight: Int((listed.weight * 100).rounded()),
                    fades: (listed.until - now).wholeSeconds)
            }, removed: removed)
    }
}

extension ForgedAddress {
    /// How many are in one report, those seen last.
    static let limit = 20

    init(_ entry: HijackedAddress) {
        self.init()
        name = entry.name.description
        address = entry.address.description
        server = entry.server
        port = Int(entry.port)
        reason = entry.evidence.reason
        subject = entry.evidence.subject
        issuer = entry.evidence.issuer
        fingerprint = entry.evidence.fingerprint
        first = UTCTime(milliseconds: entry.first * 1_000).description
        last = UTCTime(milliseconds: entry.last * 1_000).description
        count = entry.count
    }
}
