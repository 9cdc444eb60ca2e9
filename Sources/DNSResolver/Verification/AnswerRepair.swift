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

    /// One answer that is checked, or waits for it.
    @Loop
    private final class Job {
        let key: FlightKey
        let type: RecordType
        let subject: Subject
        let check: AnswerCheck
        /// Nil once it was called.
        var askHTTPDNS: (@Loop () -> Void)?

        init(
            _ key: FlightKey, _ type: RecordType, _ subject: Subject, by check: AnswerCheck,
            askHTTPDNS: @escaping @Loop () -> Void
        ) {
            (self.key, self.type, self.subject, self.check) = (key, type, subject, check)
            self.askHTTPDNS = askHTTPDNS
        }
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
        _ = queue.append(Job(key, type, subject, by: check, askHTTPDNS: askHTTPDNS), for: key.holder)
        beginNext()
    }

    private func beginNext() {
        while !underWay.isFull, let job = queue.popFirst({ underWay.held(by: $0) }) {
            let ticket = underWay.add(for: job.key.holder)
            running[ticket] = job
            Loop.spawn { [self] in
                await check(job)
                running[ticket] = nil
                underWay.remove(ticket)
                beginNext()
            }
        }
    }

    /// Removes the answers with a forged address, and has HTTPDNS asked for their names: the one whose check has detected
    /// it, and those that are cached apart, for other clients, and whose checks have not come to it yet.
    private func repair(_ address: IPAddress, of name: Name) {
        for job in Array(running.values) + queue.all
        where job.key.name == name && job.subject.answer.addresses.contains(address) {
            store.forgetUnverified(job.key, job.type)
            let askHTTPDNS = job.askHTTPDNS.take()
            if isCurrent(job) { askHTTPDNS?() }
        }
    }

    /// Whether its answer is of the policy in force: under another one such answers are not used any more, and in another
    /// network as stale ones.
    private func isCurrent(_ job: Job) -> Bool { job.key.generation == store.generation }

    /// Checks an answer: it is removed from the cache as soon as an address in it is detected as forged, whatever the others
    /// are.
    private func check(_ job: Job) async {
        let (subject, type) = (job.subject, job.type)
        let verdicts = await job.check.verdicts(
            on: subject.answer, to: job.key, from: subject.server, until: clock.now + AddressChecks.longest,
            endsAtForgery: true)
        guard !verdicts.values.contains(.forged) else {
            for (address, verdict) in verdicts where verdict == .forged { repair(address, of: job.key.name) }
            return
        }
        // Checks that had to wait for others may still detect one.
        job.check.watch(subject.answer, to: job.key, type) { [store, key = job.key] in
            store.forgetUnverified(key, type)
        }
        let checked = CheckedAnswer(subject.answer, for: type, verdicts: verdicts, level: .lenient)
        if isCurrent(job), case .verified(let answer) = checked {
            store.keepVerified(answer, for: job.key, type, subject.server)
        }
    }
}
