/// What came of asking LocalDNS for one type, as far as it may be used.
struct LocalDNSResult: Hashable, Sendable {
    let result: UpstreamResult
    /// Whether every address in it proved to be the name's.
    let isVerified: Bool
    /// Whether LocalDNS said that there is nothing, be it believed or not.
    var isDenial = false

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

    /// Whose answer it is.
    var source: Source { isVerified ? .verifiedLocalDNS : .localDNS }
}
