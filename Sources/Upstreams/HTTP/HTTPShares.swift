import DNSResolver
import DNSWire
import Scheduling

/// The active requests to one address by client network, and which of them is displaced.
///
/// They are counted only while requests wait: so nothing of it is on the path of a miss.
struct HTTPShares {
    private var holdings: FairShare
    private var transfers: [FairShare.Ticket: HTTPTransfer] = [:]

    /// - Parameter active: of each network, the one that ends first is displaced first.
    @Loop
    init(_ active: [HTTPTransfer]) {
        holdings = FairShare(capacity: active.count)
        for transfer in active.sorted(by: { $0.deadline < $1.deadline }) { add(transfer) }
    }

    /// The one of some requests that is displaced by one of `network`; nil when there is none.
    @Loop
    static func yielding(among active: [HTTPTransfer], to network: ClientNetwork) -> HTTPTransfer? {
        var holdings = FairShare(capacity: active.count)
        var transfers: [FairShare.Ticket: HTTPTransfer] = [:]
        for transfer in active.sorted(by: { $0.deadline < $1.deadline }) {
            transfers[holdings.add(for: transfer.holder)] = transfer
        }
        return holdings.yielding(to: network).flatMap { transfers[$0] }
    }

    /// How many a network has.
    func held(by network: ClientNetwork) -> Int { holdings.held(by: network) }

    /// Counts a request. One that renews the connection is not displaced.
    @Loop
    mutating func add(_ transfer: HTTPTransfer) {
        guard !transfer.isRenewing else { return }
        let ticket = holdings.add(for: transfer.holder)
        transfer.share = ticket
        transfers[ticket] = transfer
    }

    @Loop
    mutating func remove(_ transfer: HTTPTransfer) {
        guard let ticket = transfer.share.take() else { return }
        holdings.remove(ticket)
        transfers[ticket] = nil
    }

    /// The request that is displaced by one of `network`; nil when there is none.
    func yielding(to network: ClientNetwork) -> HTTPTransfer? {
        holdings.yielding(to: network).flatMap { transfers[$0] }
    }
}
