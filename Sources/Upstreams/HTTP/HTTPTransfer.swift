import DNSResolver
import DNSWire
import HTTPDNS
import Platform

/// One request in progress: queued, or on a connection.
@Loop
final class HTTPTransfer: Cancellable {
    let request: HTTPRequest
    /// Called each time before the request is sent; nil: it may be sent.
    let permit: (@Loop () -> Bool)?
    /// Called when it waits, since the service has said "not so fast".
    let delayed: (@Loop () -> Void)?
    /// The client network in whose share it is.
    let holder: ClientNetwork
    /// Whether it is sent on a new connection opened for it.
    let isRenewing: Bool
    /// When the caller stops waiting: it ends then in any case.
    let deadline: Instant
    /// Its place in the queue while it waits.
    var place: FairShare.Ticket?
    /// Its place among the active transfers that may be displaced, while these are counted.
    var share: FairShare.Ticket?
    /// Its index among the active transfers; nil while it waits.
    var index: Int?
    /// Its stream on the connection by which it was sent; nil before it is sent.
    var stream: HTTPStream?
    /// The name under which it is sent, as an index into `origin.hosts`.
    var host = 0
    /// Names whose certificate was rejected during this request.
    var refusedHosts: Set<Int> = []
    /// The number of the address's replies when it was last sent.
    var repliesBefore = 0
    /// How often the service has taken no connection for it.
    var refusals = 0
    /// How often a connection has ended before it was processed there.
    private var leftovers = 0
    /// How often the service has said "not so fast".
    var waits = 0
    /// The round of the service's pace in which it was last dispatched.
    var round = 0
    /// Ends its wait after that; nil while it does not wait.
    var wait: LoopTimer?
    /// Whether it may be sent without calling `permit`: an earlier call allowed it, and the request was not processed.
    var isPermitted = false
    /// Whether it was already sent again after its connection was given up.
    private(set) var isRepeated = false
    /// Whether a connection broke under it: it is sent again on one of its own, once.
    private var hasBroken = false
    /// Whether the server has wanted it over HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 section 7), which says nothing of others.
    private(set) var isForHTTP1 = false
    /// Called with the end of each attempt, and with nil when its caller does not want it any more. Retains all transfers, and
    /// the connections with them, until its own end.
    private var ended: (@Loop (HTTPTransfer, HTTPEnd?) -> Void)?
    private var done: (@Loop (Result<HTTPResponse, UpstreamFailure>) -> Void)?

    init(
        _ request: HTTPRequest, deadline: Instant, holder: ClientNetwork, permit: (@Loop () -> Bool)?,
        delayed: (@Loop () -> Void)?, isRenewing: Bool, ended: @escaping @Loop (HTTPTransfer, HTTPEnd?) -> Void,
        done: @escaping @Loop (Result<HTTPResponse, UpstreamFailure>) -> Void
    ) {
        self.request = request
        self.deadline = deadline
        self.holder = holder
        self.permit = permit
        self.delayed = delayed
        self.isRenewing = isRenewing
        self.ended = ended
        self.done = done
    }

    var isEnded: Bool { done == nil }

    /// Whether it is sent on a connection that it shares with no other.
    ///
    /// What a connection's end leaves over goes on together; one of it may be what ends each: after the second time they part.
    var isSeparate: Bool { hasBroken || isForHTTP1 || leftovers > 1 }

    /// Called by its connection when an attempt has ended.
    func attemptEnded(_ end: HTTPEnd) {
        stream = nil
        ended?(self, end)
    }

    /// Prepares for being sent again after an attempt without a reply. Returns why it is not sent again; nil: it is.
    func failure(after loss: HTTPLoss) -> UpstreamFailure? {
        switch loss {
        case .evicted where !isRepeated: isRepeated = true
        case .broken where !hasBroken && !isRenewing: hasBroken = true
        case .unprocessed where leftovers < HTTPLimits.refusals:
            leftovers += 1
            isPermitted = true
        case .wantsHTTP1:
            isForHTTP1 = true
            isPermitted = true
        case .crowded: break
        case .evicted(let failure), .unmade(let failure), .broken(let failure), .unprocessed(let failure),
            .refused(let failure), .refusedName(let failure, _), .failed(let failure):
            return failure
        }
        return nil
    }

    /// Calls the completion; only the first call has an effect.
    func finish(_ result: Result<HTTPResponse, UpstreamFailure>) {
        ended = nil
        done.take()?(result)
    }

    func cancel() {
        done = nil
        ended.take()?(self, nil)
    }
}

/// The requests that one connection carries, and those of them whose end is not reported yet.
///
/// One report may withdraw other requests: so each is taken out when it is reported, and not before.
@Loop
final class CarriedRequests {
    /// They wait until the connection is made; then each was sent, and is at the index of its stream.
    private(set) var all: [HTTPTransfer] = []
    /// Those that could not be sent when it was made, or that its end has ended.
    private var lost: [(transfer: HTTPTransfer, loss: HTTPLoss)] = []

    func add(_ transfer: HTTPTransfer, on stream: HTTPStream? = nil) {
        stream?.index = all.count
        transfer.stream = stream
        all.append(transfer)
    }

    func takeAll() -> [HTTPTransfer] {
        defer { all = [] }
        return all
    }

    /// Takes out one that is not wanted any more. Returns its stream, which is to be reset; nil where there is none.
    func withdraw(_ transfer: HTTPTransfer) -> HTTPStream? {
        lost.removeAll { $0.transfer === transfer }
        guard let stream = transfer.stream else {
            all.removeAll { $0 === transfer }
            return nil
        }
        let isThere = take(stream) != nil
        transfer.stream = nil
        return isThere ? stream : nil
    }

    /// Takes out the one that was sent on a stream; nil: it is not there any more.
    func take(_ stream: HTTPStream) -> HTTPTransfer? {
        guard stream.index < all.count, all[stream.index].stream === stream else { return nil }
        let (transfer, last) = (all[stream.index], all.removeLast())
        transfer.stream = nil
        guard stream.index < all.count else { return transfer }
        all[stream.index] = last
        last.stream?.index = stream.index
        return transfer
    }

    func lose(_ transfer: HTTPTransfer, _ loss: HTTPLoss) { lost.append((transfer, loss)) }

    func loseAll(_ loss: (HTTPTransfer) -> HTTPLoss) { for transfer in takeAll() { lose(transfer, loss(transfer)) } }

    /// Returns whether there was any to report.
    @discardableResult
    func reportLost() -> Bool {
        let isAny = !lost.isEmpty
        while !lost.isEmpty {
            let (transfer, loss) = lost.removeFirst()
            transfer.attemptEnded(.failure(loss))
        }
        return isAny
    }
}

/// The end of an attempt to send a request, as its connection reports it.
typealias HTTPEnd = Result<(response: HTTPResponse, isHTTP2: Bool), HTTPLoss>

/// Why an attempt to send a request has ended without a reply.
enum HTTPLoss: Error {
    /// The connection's certificate is not valid for the name; nothing was sent.
    /// - Parameter isTimeAlone: whether it is all right but for its time, and the server has its key.
    case refusedName(UpstreamFailure, isTimeAlone: Bool = false)
    /// The connection could not be made.
    case unmade(UpstreamFailure)
    /// The connection or the stream on which the request was sent failed. That may be another request's fault: alone on a new
    /// connection the same request may succeed.
    case broken(UpstreamFailure)
    /// The server has not processed the request, since it accepts no more on this connection (RFC 9113 section 8.7).
    case unprocessed(UpstreamFailure)
    /// The server takes this request not now, and others on the connection (REFUSED_STREAM, ENHANCE_YOUR_CALM).
    case refused(UpstreamFailure)
    /// We closed the connection, since it may be dead.
    case evicted(UpstreamFailure)
    /// The server wants this request, which it has not processed, over HTTP/1.1.
    case wantsHTTP1
    /// The connection takes no more requests than it has: this one was not sent.
    case crowded
    case failed(UpstreamFailure)

    /// - Parameter isClosing: whether the server takes no further request on the connection.
    init(_ code: HTTP2Code, isClosing: Bool) {
        let failure = UpstreamFailure.network(HTTP2Engine.reason(code))
        self =
            switch code {
            case .downgraded: .wantsHTTP1
            case .refusedStream where isClosing: .unprocessed(failure)
            case .refusedStream, .enhanceYourCalm: .refused(failure)
            default: .broken(failure)
            }
    }
}

/// How many requests at once a service takes, as far as it has shown: halved when it says "not so fast", then one more for
/// each round that it answers.
///
/// "Not so fast" is 429, 502 or 503, or an error with Retry-After (RFC 6585 section 4, RFC 9110 section 10.2.3), and a
/// stream that is reset with REFUSED_STREAM or ENHANCE_YOUR_CALM (RFC 9113 section 7). It is no failure of the service
/// while that answers anything: the request waits and is sent again, as long as its question waits. Names are chosen by
/// clients, and some may have a service answer 502: so the pace has a floor, and each wait is twice the last one.
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
    ///   - retryAfter: in seconds.
    ///   - sent: the round in which it was sent.
    ///   - underWay: how many requests are under way, without it.
    ///   - end: until when its answer is of use.
    mutating func refused(
        retryAfter: UInt32?, waits: Int, sent: Int, underWay: Int, capacity: Int, until end: Instant,
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
        let wanted = Duration.seconds(Int64(retryAfter ?? 0))
        // A question that cannot wait as long as wanted is sent again all the same: else another source would answer it.
        let wait = [max(usual, wanted), usual].first { now + $0 + Self.answerTime <= end }
        let first = since ?? (wait == wanted ? now + wanted : now)
        since = first
        return now - first < Self.patience ? wait : nil
    }

    mutating func answered() {
        since = nil
        guard let limit else { return }
        answers += 1
        guard answers >= limit else { return }
        answers = 0
        self.limit = limit + 1 < capacity ? limit + 1 : nil
    }
}
