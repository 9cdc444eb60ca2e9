import DNSResolver
import DNSWire
import Scheduling

/// The requests to one address that are on a connection, or wait for one being made; and how many each client network has.
///
/// The networks' parts are counted only while requests wait: so nothing of it is on the path of a miss.
@Loop
struct ActiveTransfers {
    /// In no order.
    private var entries: [(transfer: HTTPTransfer, carrier: HTTPConnection)] = []
    private var shares: Shares?

    var count: Int { entries.count }

    var all: [HTTPTransfer] { entries.map(\.transfer) }

    /// Whether any was sent.
    var hasSent: Bool { entries.contains { $0.transfer.stream != nil } }

    /// The connection of a request; nil for one that waits.
    func carrier(of transfer: HTTPTransfer) -> HTTPConnection? { transfer.index.map { entries[$0].carrier } }

    mutating func add(_ transfer: HTTPTransfer, on carrier: HTTPConnection) {
        transfer.index = entries.count
        entries.append((transfer, carrier))
        shares?.add(transfer)
    }

    /// Removes a request, if it is there.
    ///
    /// - Returns: its connection.
    @discardableResult
    mutating func remove(_ transfer: HTTPTransfer) -> HTTPConnection? {
        guard let index = transfer.index.take() else { return nil }
        let carrier = entries[index].carrier
        let last = entries.removeLast()
        if last.transfer !== transfer {
            entries[index] = last
            last.transfer.index = index
        }
        shares?.remove(transfer)
        (transfer.stage, transfer.due) = (.queued, transfer.deadline)
        return carrier
    }

    // MARK: Shares

    /// How many a network has, as far as they are counted.
    func held(by network: ClientNetwork) -> Int { shares?.held(by: network) ?? 0 }

    /// The request that yields its place to one of `network`; nil when there is none. Counts them from now on.
    mutating func yielding(to network: ClientNetwork) -> HTTPTransfer? {
        let shares = self.shares ?? Shares(all)
        self.shares = shares
        return shares.yielding(to: network)
    }

    /// The same of those that have a connection each.
    func separateYielding(to network: ClientNetwork) -> HTTPTransfer? {
        Shares(all.filter(\.isSeparate)).yielding(to: network)
    }

    /// Counts no more.
    mutating func forgetShares() { shares = nil }

    @Loop
    private struct Shares {
        private var holdings: FairShare
        private var transfers: [FairShare.Ticket: HTTPTransfer] = [:]
        private var tickets: [ObjectIdentifier: FairShare.Ticket] = [:]

        /// - Parameter active: of each network, the one that ends first is displaced first.
        init(_ active: [HTTPTransfer]) {
            holdings = FairShare(capacity: active.count)
            for transfer in active.sorted(by: { $0.deadline < $1.deadline }) { add(transfer) }
        }

        func held(by network: ClientNetwork) -> Int { holdings.held(by: network) }

        /// Counts a request. One that renews the connection is not displaced.
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

        func yielding(to network: ClientNetwork) -> HTTPTransfer? {
            holdings.yielding(to: network).flatMap { transfers[$0] }
        }
    }
}
