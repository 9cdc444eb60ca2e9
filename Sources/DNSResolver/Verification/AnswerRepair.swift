import DNSWire
import Scheduling

/// The background check of answers in mode `localdns-first`: forged answers are removed from the cache, and HTTPDNS is
/// asked for the name.
@Loop
final class AnswerRepair {
    /// Answers that are checked at once, and how many wait for a check, shared fairly by client networks; further ones
    /// stay unverified, for a minute.
    private nonisolated static let limit = 16
    private nonisolated static let queueLimit = 2_048

    /// The part of an answer of LocalDNS that is checked, and the server that gave it.
    ///
    /// Many of them may wait, and a forged response may hold thousands of records: no more is retained than can be
    /// verified.
    struct Subject {
        /// Records other than addresses that are retained: a longer CNAME chain is not verified.
        static let aliasLimit = 32

        let answer: Answer
        let server: String

        init(_ answer: Answer, server: String) {
            var left = AnswerCheck.checkedAddresses(of: answer)
            var held = answer.keeping { left.contains($0) }
            var aliases = 0
            held.answers.removeAll { record in
                if let address = record.address {
                    guard let place = left.firstIndex(of: address) else { return true }
                    left.remove(at: place)
                    return false
                }
                guard record.type == .cname || record.coveredType != nil else { return true }
                aliases += 1
                return aliases > Self.aliasLimit
            }
            (held.authorities, held.additionals) = ([], [])
            (self.answer, self.server) = (held, server)
        }
    }

    private struct Job {
        let key: FlightKey
        let type: RecordType
        let subject: Subject
        let check: AnswerCheck
        let askHTTPDNS: @Loop () -> Void
    }

    private let store: AnswerStore
    private let clock: any LoopClock
    private let queue = FairQueue<Job>(capacity: AnswerRepair.queueLimit)
    private var underWay = FairShare(capacity: AnswerRepair.limit)
    /// The jobs of the tickets in `underWay`.
    private var running: [FairShare.Ticket: Job] = [:]

    nonisolated init(store: AnswerStore, clock: any LoopClock) {
        self.store = store
        self.clock = clock
    }

    /// Checks an answer of LocalDNS that a flight has cached.
    ///
    /// - Parameter askHTTPDNS: called when an address in it was forged, after the answer was removed from the cache.
    func begin(
        _ key: FlightKey, _ type: RecordType, _ subject: Subject, by check: AnswerCheck,
        askHTTPDNS: @escaping @Loop () -> Void
    ) {
        if queue.isFull, queue.displace(for: key.holder) == nil { return }
        _ = queue.append(
            Job(key: key, type: type, subject: subject, check: check, askHTTPDNS: askHTTPDNS), for: key.holder)
        beginNext()
    }

    private func beginNext() {
        while !underWay.isFull, let job = queue.popFirst({ underWay.held(by: $0) }) {
            let ticket = underWay.add(for: job.key.holder)
            running[ticket] = job
            Loop.spawn { [self] in
                if await removesForged(job) { job.askHTTPDNS() }
                running[ticket] = nil
                underWay.remove(ticket)
                beginNext()
            }
        }
    }

    /// Removes the answers with a forged address: the one whose check has detected it, and those that are cached apart,
    /// for other clients, and whose checks have not come to it yet.
    private func forget(_ address: IPAddress, of name: Name) {
        for job in Array(running.values) + queue.all
        where job.key.name == name && job.subject.answer.addresses.contains(address) {
            store.forgetUnverified(job.key, job.type)
        }
    }

    /// Whether an answer of the policy in force has a forged address; it is removed from the cache as soon as one is
    /// detected, whatever the other addresses are.
    private func removesForged(_ job: Job) async -> Bool {
        let (subject, type) = (job.subject, job.type)
        let verdicts = await job.check.verdicts(
            on: subject.answer, to: job.key, from: subject.server, until: clock.now + AddressChecks.longest,
            endsAtForgery: true)
        // Under another policy these answers are not used any more; in another network, as stale ones.
        let isCurrent = job.key.generation == store.generation
        if verdicts.values.contains(.forged) {
            for (address, verdict) in verdicts where verdict == .forged { forget(address, of: job.key.name) }
            return isCurrent
        }
        // Checks that had to wait for others may still detect one.
        job.check.watch(subject.answer, to: job.key, type) { [store, key = job.key] in
            store.forgetUnverified(key, type)
        }
        let checked = CheckedAnswer(subject.answer, for: type, verdicts: verdicts, level: .lenient)
        if isCurrent, case .verified(let answer) = checked {
            store.keepVerified(answer, for: job.key, type, subject.server)
        }
        return false
    }
}
