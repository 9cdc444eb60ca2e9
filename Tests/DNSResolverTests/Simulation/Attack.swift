import DNSResolver
import DNSWire
import TestSupport

/// One client that chooses what it asks and when, and owns the domain of these names: its authoritative servers decide
/// what each provider and each LocalDNS answers to each question for them.
struct Attack: Sendable {
    /// One domain for each attack of a world. No honest client asks for names in them, and no policy lists them.
    static let domains = ["evil0.example", "evil1.example", "evil2.example"]

    /// What LocalDNS does with a name of the attacker.
    struct LocalConduct: Sendable {
        let conduct: Conduct
        /// The number of the honest name whose addresses LocalDNS gives; nil: addresses that the attacker chose.
        let victim: Int?
    }

    /// The number of questions, and the number of different names in them, asked in turn.
    let count: Int
    let names: Int
    /// The time between two questions.
    let interval: Duration
    let type: RecordType
    /// How providers treat the questions, used in turn.
    let conducts: [Conduct]
    /// How LocalDNS treats them, used in turn.
    let localConducts: [LocalConduct]
    /// What the server of an honest name shows in a handshake for one of the attacker's names. Never silence: that counts
    /// against the address, whatever the name (section 8).
    let foreignHandshake: Conduct.Address

    /// - Parameter victim: the name whose addresses LocalDNS gives; nil: a random one of `names`, or none.
    init(_ lots: inout SeededNumbers, names victims: [Int], victim: Int? = nil) {
        count = lots.number(1...32)
        names = lots.pick([1, 5, 40, 40])
        interval = .milliseconds(lots.pick([0, 10, 90, 250, 400, 990, 1_000, 1_010, 1_300, 2_000]))
        type = lots.pick([.a, .aaaa])
        conducts = (0..<lots.number(1...3)).map { _ in Conduct(ofOwnName: &lots) }
        localConducts = (0..<lots.number(1...3)).map { _ in
            let conduct = Conduct(ofOwnLocalName: &lots)
            if let victim { return LocalConduct(conduct: Conduct(.addresses, delay: .zero, ttl: 60), victim: victim) }
            return LocalConduct(conduct: conduct, victim: lots.happens(1, in: 2) ? lots.pick(victims) : nil)
        }
        foreignHandshake = lots.pick([.hijacker, .plain, .refusing])
    }
}

extension Conduct {
    /// What the owner of a name can cause for that name only: never a failure of the connection. Its questions may also
    /// be answered while no others are.
    fileprivate init(ofOwnName lots: inout SeededNumbers) {
        let reply: Reply
        let delays: [Int64]
        switch lots.number(0...5) {
        case 0: (reply, delays) = (.silence, [0])
        case 5: (reply, delays) = (.addresses, [0, 10, 90])
        case 1: (reply, delays) = (.addresses, [950, 1_200, 1_600, 2_100])
        default: (reply, delays) = (.failure(lots.pick(Self.ownersFailures)), [0, 0, 90, 320, 950])
        }
        self.init(reply, delay: .milliseconds(lots.pick(delays)), ttl: 60)
    }

    private static let ownersFailures: [UpstreamFailure] = [
        .timeout, .slow, .unusable("HTTP 500"), .unusable("the reply is larger than the limit"),
        .busy("HTTP 429", retryAfter: .seconds(7)), .busy("HTTP 429", retryAfter: .seconds(300)),
        .authentication("HTTP 403"), .refused("name not listed"), .responseCode(.serverFailure),
        .responseCode(.refused), .network("stream reset"),
    ]

    /// What the owner of a name can make a plain resolver do with it.
    fileprivate init(ofOwnLocalName lots: inout SeededNumbers) {
        let reply: Reply =
            switch lots.number(0...7) {
            case 0: .silence
            case 1: .failure(.responseCode(lots.pick([.formatError, .serverFailure, .refused])))
            case 2: .nameErrorAtAll
            case 3: .noDataAtAll
            default: .addresses
            }
        self.init(
            reply, delay: .milliseconds(lots.pick([0, 10, 250, 950, 2_100])), ttl: UInt32(lots.pick([0, 60, 3_600])))
        addresses = (0..<lots.number(1...3)).map { _ in lots.pick(Address.allCases) }
    }
}
