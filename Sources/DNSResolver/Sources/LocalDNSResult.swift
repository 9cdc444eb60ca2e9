/// The result of asking LocalDNS for one type, as far as it may be used.
struct LocalDNSResult: Hashable, Sendable {
    let result: UpstreamResult
    /// Whether every address in it was verified to be the name's.
    let isVerified: Bool

    init(_ result: UpstreamResult) {
        self.result = result
        isVerified = false
    }

    init(_ checked: CheckedAnswer) {
        switch checked {
        case .verified(let answer): (result, isVerified) = (.answer(answer), true)
        case .unverified(let answer): (result, isVerified) = (.answer(answer), false)
        case .refused(let failure): (result, isVerified) = (.failure(failure), false)
        }
    }

    /// The source of the answer.
    var source: Source { isVerified ? .verifiedLocalDNS : .localDNS }
}
