import DNSWire
import Scheduling

// Answers that several servers share: looked at before a provider is asked.

extension Runner {
    /// Looks among the shared answers, if there are any that this name's providers may have given.
    ///
    /// - Returns: false when nothing is looked up, and a provider is to be asked at once.
    func lookUpShared() -> Bool {
        guard case .protect = key.route, eligible.contains(where: { sources.providers.all[$0].isAuthenticated }) else {
            return false
        }
        // Both families, where they are asked for together, although one may be settled: they are one value.
        sharing = sources.shared?.begin(key, slots.types) { [self] found in
            for answer in found where eligible.contains(answer.provider) { take(answer) }
            if slots.needProviders { beginRequests() }
            goOn()
        }
        guard sharing != nil else { return false }
        key.note(.ask, "the shared cache is asked for \(slots.typesForProviders.traceText)")
        return true
    }

    private func take(_ found: SharedAnswer) {
        let provider = sources.providers.all[found.provider]
        guard provider.isAuthenticated else { return }
        key.note(.reply, "the shared cache has \(found.type), as answered by \(provider.name) (\(found.server))")
        // What is filtered here may differ from what was where the answer was received.
        let result = sources.providers.filter.admitted(.answer(found.answer), to: key.name)
        slots.add(result, sharedAs: found)
    }

    /// Shares a result that a provider gave just now and that does not depend on this network.
    func share(_ result: SourcedResult) {
        guard case .provider(let index) = result.source, case .answer(let answer) = result.result, !result.isDenied,
            result.sharedFor == nil, sources.providers.all[index].isAuthenticated
        else { return }
        sharing?.share(answer, result.type, of: index, from: result.server)
    }
}
