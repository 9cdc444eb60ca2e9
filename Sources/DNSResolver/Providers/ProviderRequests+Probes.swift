import Scheduling

// While all addresses are in backoff.

extension ProviderRequests {
    /// When all addresses are in backoff: waits for one probe of each, under way or due in time.
    func waitOrFinish() {
        guard clock.now < deadline, let next = nextProbe(), next <= deadline else { return finish() }
        key.note(.ask, "all addresses of the providers are in backoff: a probe is awaited")
        wait = providers.probes.wait(until: next) { [self] in
            wait = nil
            startNext()
            if underWay == 0 { waitOrFinish() } else { changed?() }
        }
        // The probe that a question begins counts as an attempt of its own.
        guard !hasBegunProbe else { return }
        slots.awaitProbe()
        changed?()
    }

    /// Begins the probes that are due, one for each address.
    ///
    /// - Returns: when the next one may begin, or the deadline where one is under way; nil when none is left to wait
    ///   for.
    private func nextProbe() -> Instant? {
        var next: Instant?
        var isProbing = false
        for index in places.indices where places[index].isOpen && places[index].candidate.isInBackoff {
            let candidate = places[index].candidate
            if !places[index].isProbed, providers.probes.beginIfDue(candidate, isUrgent: true) { hasBegunProbe = true }
            if candidate.backoff.isProbing {
                isProbing = true
                places[index].isProbed = true
            } else if !places[index].isProbed, let due = candidate.backoff.nextUrgentProbe {
                next = min(next ?? due, due)
            }
        }
        guard isProbing else {
            hasBegunProbe = false
            return next
        }
        return min(next ?? deadline, deadline)
    }
}
