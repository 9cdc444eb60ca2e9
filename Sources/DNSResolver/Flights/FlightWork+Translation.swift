import DNSCache
import DNSWire
import Scheduling

// DNS64 (RFC 6147): IPv6 addresses for protected names that have IPv4 addresses alone.

extension ResolverPolicy {
    /// Whether a name's AAAA is made of its A when a provider answers none.
    ///
    /// A client that checks signatures itself gets what was answered (RFC 6147 section 5.5), and clients that are to use IPv4
    /// get no IPv6 addresses.
    func translates(_ type: RecordType, _ key: FlightKey) -> Bool {
        guard isTranslating, type == .aaaa, !key.checkingDisabled, case .protect = key.route else { return false }
        return !localAnswers.families.yields(.aaaa) && !localAnswers.families.excludes(.aaaa)
    }

    /// The addresses that stand for a name's IPv4 addresses while the question for its IPv6 addresses fails; nil when there are
    /// none, or nothing is translated.
    @Loop
    func translatedInstead(_ key: FlightKey, _ type: RecordType, in store: AnswerStore) -> Answer? {
        guard translates(type, key), case .prefix(let prefix) = translation,
            let answer = store.trustedAnswer(key, .a), !answer.hasSignatures
        else { return nil }
        return prefix.translated(answer, longest: AnswerStore.failedFamilyTTL)
    }
}

extension FlightWork {
    /// What is answered in place of "no IPv6 address".
    enum Translated {
        /// Made of the name's IPv4 addresses.
        case answer(Answer)
        /// They could not be obtained.
        case failure(ExtendedError)
        /// The name has none that can be translated: the negative answer stands.
        case nothing
        /// Only LocalDNS answers them, unverified: the negative answer stands meanwhile.
        case unverified
    }

    /// What is answered for AAAA of a name that has no IPv6 address by a provider's answer.
    ///
    /// Its IPv4 addresses come from the same flight, from the cache, or from a flight of their own, and from a provider or
    /// from LocalDNS where certificates verify them.
    /// - Parameters:
    ///   - negative: the provider's answer.
    ///   - deadline: until when the IPv4 addresses are awaited.
    func translated(_ negative: Answer, until deadline: Instant) async -> Translated {
        guard case .prefix(let prefix) = policy.translation else {
            // The policy that follows gives the flight up, and its clients ask again.
            await clock.sleep(until: clock.now + Translation.longestWait)
            return .nothing
        }
        switch await ipv4Addresses(until: deadline) {
        case .unverified: return .unverified
        case .records(let answer) where answer.hasSignatures:
            return .nothing
        case .records(let answer):
            return prefix.translated(answer, longest: negative.translationTTL).map(Translated.answer) ?? .nothing
        case .failure(let error): return .failure(error)
        }
    }

    /// The trusted answer to the name's A.
    private func ipv4Addresses(until deadline: Instant) async -> IPv4Answer {
        if let run = flight.run(for: .a), run === flight.run(for: .aaaa) {
            return await flight.ipv4Answer(until: deadline)
        }
        if let answer = store.trustedAnswer(key, .a) { return .records(answer) }
        if let error = environment.remembered(key, .a, by: policy) { return .failure(error) }
        guard let flight = Self.join(key, .a, by: policy, in: environment) else {
            return .failure(ExtendedError(.other, "too many questions are under way"))
        }
        // Neither may wait for the other.
        return await flight.ipv4Answer(until: flight.run(for: .a)?.isWaiting == true ? clock.now : deadline)
    }
}

/// What is known of a name's A.
private enum IPv4Answer {
    /// Of a provider, or of LocalDNS and verified.
    case records(Answer)
    /// Another source has answered.
    case unverified
    case failure(ExtendedError)
}

extension Flight {
    /// The trusted answer to the name's A.
    fileprivate func ipv4Answer(until deadline: Instant) async -> IPv4Answer {
        await withCheckedContinuation { continuation in
            wait(for: .a, until: deadline) { [key] outcome, source in
                let result: IPv4Answer =
                    switch outcome {
                    case .answer(let packed) where source.map(SourceTags.isTrusted) ?? false:
                        .records(packed.unpacked(for: Question(name: key.name, type: .a)) ?? Answer())
                    case .answer: .unverified
                    case .failure(let error): .failure(error)
                    case nil: .failure(ExtendedError(.noReachableAuthority, "no answer in time about IPv4 addresses"))
                    }
                continuation.resume(returning: result)
            }
        }
    }
}
