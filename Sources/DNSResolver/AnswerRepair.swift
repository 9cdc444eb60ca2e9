import DNSWire
import Scheduling

/// The check that runs behind an answer in mode `localdns-first`: what proves to be a lie is forgotten, and the name is
/// asked of HTTPDNS.
@Loop
final class AnswerRepair {
    /// Names that are checked at once, and how many wait for it; of more the answers stay unproven, for a minute.
    private static let limit = 8
    private static let queueLimit = 1_024

    /// An answer of LocalDNS, and the server that gave it.
    struct Told {
        let answer: Answer
        let server: String
    }

    private struct Job {
        let key: FlightKey
        let answers: [RecordType: Told]
        let check: AnswerCheck
        let askHTTPDNS: @Loop () -> Void
    }

    private let cache: AnswerStore
    private let clock: any LoopClock
    private var queue: [Job] = []
    private var underWay = 0

    nonisolated init(cache: AnswerStore, clock: any LoopClock) {
        self.cache = cache
        self.clock = clock
    }

    /// Checks what one flight has kept of LocalDNS.
    ///
    /// - Parameter askHTTPDNS: called when there was a lie among it, after that has been forgotten.
    func begin(
        _ key: FlightKey, _ answers: [RecordType: Told], by check: AnswerCheck,
        askHTTPDNS: @escaping @Loop () -> Void
    ) {
        guard !answers.isEmpty, queue.count < Self.queueLimit else { return }
        queue.append(Job(key: key, answers: answers, check: check, askHTTPDNS: askHTTPDNS))
        beginNext()
    }

    private func beginNext() {
        while underWay < Self.limit, !queue.isEmpty {
            let job = queue.removeFirst()
            underWay += 1
            Loop.spawn { [self] in
                await run(job)
                underWay -= 1
                beginNext()
            }
        }
    }

    private func run(_ job: Job) async {
        await withTaskGroup { group in
            for (type, told) in job.answers { group.addTask { await self.isLie(told, type, job) } }
            var isLie = false
            for await isAnother in group where isAnother && !isLie {
                isLie = true
                job.askHTTPDNS()
            }
        }
    }

    /// Whether there is a lie in an answer of the policy in force; that is forgotten as soon as it is known, whatever the other
    /// addresses are.
    private func isLie(_ told: Told, _ type: RecordType, _ job: Job) async -> Bool {
        let verdicts = await job.check.verdicts(
            on: told.answer, to: job.key.name, until: clock.now + AddressChecks.longest, endsAtLie: true)
        // Under another policy these answers are not used any more; in another network, as stale ones.
        let isCurrent = job.key.generation == cache.generation
        if verdicts.values.contains(.forged) {
            cache.forgetUnverified(job.key, type)
            return isCurrent
        }
        // Checks that had to wait for others may still find one.
        job.check.watch(told.answer, to: job.key, type) { [cache] in cache.forgetUnverified(job.key, type) }
        let checked = CheckedAnswer(told.answer, for: type, verdicts: verdicts, level: .lenient)
        if isCurrent, case .verified(let proven) = checked { cache.keepProven(proven, for: job.key, type, told.server) }
        return false
    }
}
