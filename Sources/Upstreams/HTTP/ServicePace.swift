import HTTPDNS
import Scheduling

/// How many requests at once a service takes, as far as it has shown: halved when it says "not so fast", then one more for
/// each round that it answers.
///
/// "Not so fast" is 429, 502 or 503, or an error with Retry-After (RFC 6585 section 4, RFC 9110 section 10.2.3). It is no
/// failure of the service while that answers anything: the request waits and is sent again. Names are chosen by clients, and
/// some may have a service answer 502: so the pace has a floor, and no request is sent again more than `repeats` times.
struct ServicePace {
    /// Requests at once that are always sent.
    static let floor = 4
    /// How often a request is sent again.
    static let repeats = 3
    /// The first wait of a request; each further one is twice as long.
    private static let firstWait: Duration = .milliseconds(100)
    /// How long a service that answers nothing else is asked again.
    private static let patience: Duration = .milliseconds(900)

    /// The most requests at once; nil: as many as there may be.
    private(set) var limit: Int?
    /// Answers since it last grew.
    private var answers = 0
    /// When it was last halved: what was sent before says nothing new.
    private var halved = Instant(nanoseconds: .min)
    /// When the service first said so without having answered since; nil: its last word was an answer.
    private var since: Instant?

    /// Whether a response says "not so fast".
    static func isRefusal(_ response: HTTPResponse) -> Bool {
        [429, 502, 503].contains(response.status) || response.status >= 400 && response.retryAfter != nil
    }

    /// How long a request waits that was refused; nil: it has failed.
    ///
    /// - Parameters:
    ///   - repeats: how often it was sent again before.
    ///   - underWay: how many requests are under way, without it.
    ///   - end: until when it may be sent again.
    mutating func refused(
        _ response: HTTPResponse, repeats: Int, underWay: Int, until end: Instant, at now: Instant
    ) -> Duration? {
        let first = since ?? now
        since = first
        if now - halved >= Self.firstWait {
            limit = max(Self.floor, min(limit ?? .max, underWay + 1) / 2)
            (halved, answers) = (now, 0)
        }
        let wait = max(
            Self.firstWait * (1 << min(repeats, Self.repeats)), .seconds(Int64(response.retryAfter ?? 0)))
        guard repeats < Self.repeats, now - first < Self.patience, now + wait < end else { return nil }
        return wait
    }

    /// Records an answer.
    ///
    /// - Parameter capacity: the most requests that there may be at once.
    mutating func answered(capacity: Int) {
        since = nil
        guard let limit else { return }
        answers += 1
        guard answers >= limit else { return }
        answers = 0
        self.limit = limit + 1 < capacity ? limit + 1 : nil
    }
}
