import DNSWire
import Platform

/// How a server is queried.
struct LocalDNSWay: Equatable {
    var transport = Transport.udp
    var edns = true

    var overTCP: LocalDNSWay { LocalDNSWay(transport: .tcp, edns: edns) }
    var withoutEDNS: LocalDNSWay { LocalDNSWay(transport: transport, edns: false) }
}

/// Whose turn it is in one lookup, and what its servers have said so far. They are meant by their index.
struct LocalDNSTurns {
    /// A server in a lookup, and what became of it there.
    struct Candidate {
        let server: LocalDNSServer
        /// Servers of one group know the same names.
        let group: Int
        /// How it is queried first.
        let first: LocalDNSWay
        /// How many more times it has its turn.
        fileprivate var turns = 0
        /// Whether it was queried over TCP beside its turns, and whether anything came from it over UDP.
        fileprivate var (isAskedBeside, isHeardOverUDP) = (false, false)
        /// Whether it refused to answer, or one of its group denied the name.
        fileprivate var hasNothingMore = false

        init(_ server: LocalDNSServer, group: Int = 0, _ way: LocalDNSWay = LocalDNSWay()) {
            (self.server, self.group) = (server, group)
            first = server.usesTCP ? way.overTCP : way
        }
    }

    private(set) var candidates: [Candidate]
    /// The most informative failure.
    private var failure: UpstreamFailure?
    /// The last NXDOMAIN.
    private var denial: (answer: Answer, server: LocalDNSServer)?
    /// Whether a server to which EDNS was offered has responded with it; nil also when it has not responded to a query
    /// with it.
    private(set) var takesEDNS: Bool?
    /// Over what a server has answered; TCP only when it had not responded over UDP.
    private(set) var answeredOver: Transport?

    /// - Parameter turns: of each server.
    init(_ candidates: [Candidate], turns: Int) {
        self.candidates = candidates
        for index in candidates.indices { self.candidates[index].turns = turns }
    }

    /// The first of those that have had the fewest turns; nil when none has one any more.
    var next: Int? {
        candidates.indices.max { candidates[$0].turns < candidates[$1].turns }.flatMap {
            candidates[$0].turns > 0 ? $0 : nil
        }
    }

    /// Takes a turn of a server. The last one has no EDNS, which some servers drop.
    mutating func take(_ index: Int) -> (LocalDNSWay, isLast: Bool) {
        candidates[index].turns -= 1
        let (first, isLast) = (candidates[index].first, candidates[index].turns == 0)
        return (isLast ? first.withoutEDNS : first, isLast)
    }

    /// Notes that a server is queried over TCP beside its turns.
    ///
    /// - Returns: false when it was before.
    mutating func askBeside(_ index: Int) -> Bool {
        guard !candidates[index].isAskedBeside else { return false }
        candidates[index].isAskedBeside = true
        return true
    }

    /// Notes that something came from a server in response to a query.
    mutating func heard(_ index: Int, over transport: Transport) {
        if transport == .udp { candidates[index].isHeardOverUDP = true }
    }

    /// Learns how a server responds.
    ///
    /// - Returns: whether otherwise than it was queried first.
    mutating func learn(_ index: Int, _ way: LocalDNSWay) -> Bool {
        let (first, isHeardOverUDP) = (candidates[index].first, candidates[index].isHeardOverUDP)
        if first.edns { takesEDNS = way.edns }
        if first.transport == .udp { answeredOver = isHeardOverUDP ? .udp : .tcp }
        return first.edns && !way.edns || first.transport == .udp && !isHeardOverUDP
    }

    /// Notes a failure.
    mutating func note(_ failure: UpstreamFailure) {
        func weight(_ failure: UpstreamFailure?) -> Int {
            switch failure {
            case .responseCode, .rejected: 4
            case .unusable: 3
            case .network: 2
            case .overloaded: 1
            default: 0
            }
        }
        if weight(failure) > weight(self.failure) { self.failure = failure }
    }

    /// Gives up a server.
    mutating func giveUp(_ index: Int, _ failure: UpstreamFailure) {
        note(failure)
        candidates[index].turns = 0
        if failure == .responseCode(.refused) { candidates[index].hasNothingMore = true }
    }

    /// Gives up a server's group, which has denied the name: the others may know it.
    mutating func deny(_ answer: Answer, by index: Int) {
        denial = (answer, candidates[index].server)
        for member in candidates.indices where candidates[member].group == candidates[index].group {
            (candidates[member].turns, candidates[member].hasNothingMore) = (0, true)
        }
    }

    /// Whether all that have a turn are away.
    func isOver(isAway: (LocalDNSServer) -> Bool) -> Bool {
        candidates.allSatisfy { $0.turns == 0 || isAway($0.server) }
    }

    /// The result without an answer: a denial that no group can contradict, or the most informative failure.
    func result(isAway: (LocalDNSServer) -> Bool) -> (UpstreamResult, by: LocalDNSServer?) {
        guard let denial, candidates.allSatisfy({ $0.hasNothingMore || isAway($0.server) }) else {
            return (.failure(failure ?? .timeout), nil)
        }
        return (.answer(denial.answer), denial.server)
    }
}
