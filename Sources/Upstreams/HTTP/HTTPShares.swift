import DNSResolver
import DNSWire
import Scheduling

/// The active requests to one address by client network, and which of them is displaced.
///
/// They are counted only while requests wait: so nothing of it is on the path of a miss.
struct HTTPShares {
    private var holdings: FairShare
    private var transfers: [FairShare.Ticket: HTTPTransfer] = [:]
    private var tickets: [ObjectIdentifier: FairShare.Ticket] = [:]

    /// - Parameter active: of each network, the one that ends first is displaced first.
    @Loop
    init(_ active: [HTTPTransfer]) {
        holdings = FairShare(capacity: active.count)
        for transfer in active.sorted(by: { $0.deadline < $1.deadline }) { add(transfer) }
    }

    /// How many a network has.
    func held(by network: ClientNetwork) -> Int { holdings.held(by: network) }

    /// Counts a request. One that renews the connection is not displaced.
    @Loop
    mutating func add(_ transfer: HTTPTransfer) {
        guard !transfer.isRenewing else { return }
        let ticket = holdings.add(for: transfer.holder)
        tickets[ObjectIdentifier(transfer)] = ticket
        transfers[ticket] = transfer
    }

    mutating func remove(_ transfer: HTTPTransfer) {
        guard let ticket = tickets.removeValue(forKey: ObjectIdentifier(transfer)) else { return }
        holdings.remove(ticket)
        transfers[ticket] = nil
    }

    /// The request that is displaced by one of `network`; nil when there is none.
    func yielding(to network: ClientNetwork) -> HTTPTransfer? {
        holdings.yielding(to: network).flatMap { transfers[$0] }
    }
}
