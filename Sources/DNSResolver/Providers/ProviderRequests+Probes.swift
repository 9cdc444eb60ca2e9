import DNSWire
import Scheduling

// While all addresses are in backoff.

extension ProviderRequests {
    /// When all addresses are in backoff: waits for one probe of each, under way or due in time.
    ///
    /// A young probe, less than `Budget.verified` old, counts as an attempt of each question, whichever began it: no client
    /// has LocalDNS's answer because another client asked first.
    func waitOrFinish() {
        guard clock.now < deadline, let next = nextProbe(), next.due <= deadline else { return finish() }
        key.note(.ask, "all addresses of the providers are in backoff: a probe is awaited")
        wait = providers.probes.wait(until: next.due) { [self] in
            wait = nil
            startNext()
            if underWay == 0 { waitOrFinish() } else { changed?() }
        }
        guard !next.isYoung else { return }
        slots.awaitProbe()
        changed?()
    }

    /// Begins the probes that are due, one for each address.
    ///
    /// - Returns: when to look again: the next one may begin, one under way is young no longer, or the deadline; and
    ///   whether one is young. Nil when none is left to wait for.
    private func nextProbe() -> (due: Instant, isYoung: Bool)? {
        var next: Instant?
        var isYoung = false
        for index in places.indices where places[index].isOpen && places[index].candidate.isInBackoff {
            let candidate = places[index].candidate
            if !places[index].isProbed { providers.probes.beginIfDue(candidate, isUrgent: true) }
            var due = deadline
            if let began = candidate.backoff.probeStart {
                places[index].isProbed = true
                let end = began + Budget.verified
                if clock.now < end { (isYoung, due) = (true, min(end, deadline)) }
            } else if !places[index].isProbed, let urgent = candidate.backoff.nextUrgentProbe {
                due = urgent
            } else {
                continue
            }
            next = min(next ?? due, due)
        }
        return next.map { ($0, isYoung) }
    }
}
