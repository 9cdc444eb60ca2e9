import DNSWire
import Scheduling

/// The replies of several providers to one question, combined type by type.
struct ProviderTally {
    /// Whether the provider of a reply may be asked further.
    enum Verdict {
        case providerMayBeAskedAgain
        case providerFinished
    }

    /// The state of one type.
    struct Entry {
        let type: RecordType
        /// Its answer; at the end the result without an answer. Nil while it is open.
        fileprivate(set) var result: UpstreamResult?
        fileprivate var isOpen = true
        /// The provider whose answer it is, and the address of its service that answered.
        fileprivate(set) var provider = 0
        fileprivate(set) var server = ""
        /// The last empty response of a provider.
        fileprivate(set) var empty: EmptyFamily?
        /// The last failure of each provider.
        fileprivate var failures: [(provider: Int, failure: UpstreamFailure)] = []

        fileprivate init(_ type: RecordType) { self.type = type }

        fileprivate mutating func settle(_ result: UpstreamResult, _ provider: Int, _ server: String) {
            self.result = result
            isOpen = false
            self.provider = provider
            self.server = server
        }

        fileprivate mutating func forgetFailure(of provider: Int) {
            if let index = failures.firstIndex(where: { $0.provider == provider }) { failures.remove(at: index) }
        }
    }

    private let name: Name
    private let types: [RecordType]
    private let deadline: Instant
    private var wasAsked = false
    /// One for each type, in the order of `types`.
    private(set) var entries: [Entry] = []
    /// The providers that have answered records of the name.
    private var knowing: [Int] = []

    init(_ question: borrowing UpstreamQuestion) {
        name = question.name
        types = question.types
        deadline = question.deadline
        entries.reserveCapacity(types.count)
        for type in types { entries.append(Entry(type)) }
    }

    /// The types without an answer.
    var openTypes: [RecordType] { hasAnswers ? entries.filter(\.isOpen).map(\.type) : types }

    /// Whether some type has its answer.
    var hasAnswers: Bool {
        for index in entries.indices where !entries[index].isOpen { return true }
        return false
    }

    /// Whether every type has its answer.
    var isSettled: Bool {
        for index in entries.indices where entries[index].isOpen { return false }
        return true
    }

    mutating func take(_ reply: UpstreamReply, from provider: Int, at server: String) -> Verdict {
        wasAsked = true
        var verdict = Verdict.providerMayBeAskedAgain
        for index in entries.indices where entries[index].isOpen {
            guard let result = reply.results[entries[index].type] else { continue }
            switch result {
            case .answer:
                entries[index].settle(result, provider, server)
            case .indeterminateEmpty(let ttl):
                entries[index].empty = EmptyFamily(
                    provider: provider, server: server, sentTTL: ttl, deadline: deadline)
                entries[index].forgetFailure(of: provider)
                verdict = .providerFinished
            case .failure(let failure):
                entries[index].forgetFailure(of: provider)
                entries[index].failures.append((provider, failure))
                if failure.endsProvider { verdict = .providerFinished }
            }
        }
        if !isSettled {
            if reply.hasRecords, !knowing.contains(provider) { knowing.append(provider) }
            settleEmptyFamilies()
        }
        return verdict
    }

    /// A provider that has answered addresses of one family knows the name: its empty response holds for the other
    /// family, not for the name.
    private mutating func settleEmptyFamilies() {
        for index in entries.indices where entries[index].isOpen {
            guard let empty = entries[index].empty, knowing.contains(empty.provider) else { continue }
            entries[index].settle(.answer(.negative(name: name, ttl: empty.ttl)), empty.provider, empty.server)
        }
    }

    /// Settles the open types when nothing more will come. A type for which only some providers sent an empty response,
    /// while others failed, is a failure: the others might know it.
    ///
    /// - Parameter reason: why no provider could be asked, in case none was.
    mutating func settleRest(reason: @autoclosure () -> String) {
        for index in entries.indices where entries[index].isOpen {
            if let last = entries[index].failures.max(by: { $0.provider < $1.provider }) {
                entries[index].result = .failure(last.failure)
            } else if let empty = entries[index].empty {
                entries[index].result = .indeterminateEmpty(ttl: empty.sentTTL)
            } else {
                entries[index].result = .failure(wasAsked ? .timeout : .network(reason()))
            }
        }
    }
}

extension UpstreamFailure {
    /// Whether asking another address of the same provider is pointless.
    var endsProvider: Bool {
        switch self {
        case .authentication, .rejected, .responseCode, .forged, .cancelled: true
        case .timeout, .slow, .noServer, .network, .unusable, .certificate, .busy, .overloaded: false
        }
    }
}

extension UpstreamReply {
    /// Whether it holds an answer with records.
    fileprivate var hasRecords: Bool {
        results.containsValue { result in
            if case .answer(let answer) = result { !answer.answers.isEmpty } else { false }
        }
    }

    /// Whether asking the same address again is pointless: only silence and broken connections are transient.
    var endsEndpoint: Bool {
        !results.containsValue { result in
            if case .failure(let failure) = result { failure.isTransport } else { false }
        }
    }

    /// Whether the attempt was cancelled without any result.
    var isCancelled: Bool { !results.containsValue { $0 != .failure(.cancelled) } }

    /// Why the reply has no result at all; nil when it has one, or the attempt was cancelled.
    package var failure: UpstreamFailure? {
        var last: UpstreamFailure?
        let hasResult = results.containsValue { result in
            guard case .failure(let failure) = result else { return true }
            if failure != .cancelled { last = failure }
            return false
        }
        return hasResult ? nil : last
    }
}
