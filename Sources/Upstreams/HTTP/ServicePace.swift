import DNSResolver
import HTTPDNS
import Scheduling

/// How many requests at once a service takes, as far as it has shown: halved when it says "not so fast", then one more for
/// each round that it answers.
///
/// "Not so fast" is 429, 502 or 503, or an error with Retry-After (RFC 6585 section 4, RFC 9110 section 10.2.3). It is no
/// failure of the service while that answers anything: the request waits and is sent again, as long as its question
/// waits. Names are chosen by clients, and some may have a service answer 502: so the pace has a floor, and each wait is
/// twice the last one.
struct ServicePace {
    /// Requests at once that are always sent.
    static let floor = 4
    /// The first wait of a request; in the 1.9 s of a question it is sent four times at most.
    static let firstWait: Duration = .milliseconds(150)
    /// The most times that a wait is doubled.
    private static let doublings = 8
    /// The time that a request which is sent again has for its answer.
    private static let answerTime = Budget.answer - Budget.lastStart
    /// How long a service that answers nothing else is asked again.
    private static let patience: Duration = .milliseconds(900)

    /// The most requests at once; nil: as many as there may be.
    private(set) var limit: Int?
    /// How often it was halved. It is not again for requests that were sent before it last was.
    private(set) var round = 0
    /// Of the requests that were under way when it last was halved, those not refused: not more at once are sent.
    private var taken = 0
    /// At this limit there is none any more.
    private var capacity = 0
    /// Answers since it last grew.
    private var answers = 0
    /// When the service first said so without having answered since, or the end of the wait that it then asked for; nil: its
    /// last word was an answer.
    private var since: Instant?

    /// Whether a response says "not so fast".
    static func isRefusal(_ response: HTTPResponse) -> Bool {
        switch response.status {
        case 429, 502, 503: true
        case 400...: response.retryAfter != nil
        default: false
        }
    }

    /// How long a request waits that was refused; nil: it has failed.
    ///
    /// - Parameters:
    ///   - waits: how often it has waited before.
    ///   - sent: the round in which it was sent.
    ///   - underWay: how many requests are under way, without it.
    ///   - capacity: the most that there may be at once.
    ///   - end: until when its answer is of use.
    mutating func refused(
        _ response: HTTPResponse, waits: Int, sent: Int, underWay: Int, capacity: Int, until end: Instant,
        at now: Instant
    ) -> Duration? {
        if sent == round {
            taken = min(limit ?? .max, underWay + 1)
            limit = max(Self.floor, taken / 2)
            (round, answers, self.capacity) = (round &+ 1, 0, capacity)
        }
        if sent &+ 1 == round {
            taken -= 1
            limit = max(Self.floor, min(limit ?? .max, taken))
        }
        let usual = Self.firstWait * (1 << min(waits, Self.doublings))
        let wanted = Duration.seconds(Int64(response.retryAfter ?? 0))
        // A question that cannot wait as long as wanted is sent again all the same: else another source would answer it.
        let wait = [max(usual, wanted), usual].first { now + $0 + Self.answerTime <= end }
        let first = since ?? (wait == wanted ? now + wanted : now)
        since = first
        return now - first < Self.patience ? wait : nil
    }

    /// Records an answer.
    ///
    /// - Returns: whether there is no limit any more.
    mutating func answered() -> Bool {
        since = nil
        guard let limit else { return false }
        answers += 1
        guard answers >= limit else { return false }
        answers = 0
        self.limit = limit + 1 < capacity ? limit + 1 : nil
        return self.limit == nil
    }
}
