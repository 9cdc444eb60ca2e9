import DNSWire

/// The requests that wait to be sent: first in, first out for each client network, and round robin among the networks.
/// Any request can be removed at any time.
///
/// So a client that queries many names waits behind its own requests, and delays no other client.
struct HTTPQueue {
    struct Place {
        /// Nil: ahead of all networks.
        fileprivate let holder: ClientNetwork?
        fileprivate let number: Int
    }

    private struct Lane {
        var transfers: [Int: HTTPTransfer] = [:]
        var first = 0
        var end = 0

        mutating func append(_ transfer: HTTPTransfer) -> Int {
            transfers[end] = transfer
            end += 1
            return end - 1
        }

        mutating func popFirst() -> HTTPTransfer? {
            while first < end {
                defer { first += 1 }
                if let transfer = transfers.removeValue(forKey: first) { return transfer }
            }
            return nil
        }
    }

    private(set) var count = 0
    /// Requests that were queued before.
    private var repeated = Lane()
    private var lanes: [ClientNetwork: Lane] = [:]
    /// The networks that have a lane, in round-robin order.
    private var turns: [ClientNetwork] = []
    /// The index in `turns` of the next network.
    private var turn = 0

    /// All requests in the queue, in no order.
    var all: [HTTPTransfer] { Array(repeated.transfers.values) + lanes.values.flatMap(\.transfers.values) }

    /// Appends a transfer to those of its client network.
    mutating func append(_ transfer: HTTPTransfer) -> Place {
        let holder = transfer.holder
        if lanes[holder] == nil {
            lanes[holder] = Lane()
            turns.append(holder)
        }
        count += 1
        return Place(holder: holder, number: lanes[holder, default: Lane()].append(transfer))
    }

    /// Puts a transfer that was queued before ahead of all networks.
    mutating func prepend(_ transfer: HTTPTransfer) -> Place {
        count += 1
        return Place(holder: nil, number: repeated.append(transfer))
    }

    /// Removes a transfer.
    mutating func remove(_ place: Place) {
        let removed =
            if let holder = place.holder {
                lanes[holder]?.transfers.removeValue(forKey: place.number)
            } else {
                repeated.transfers.removeValue(forKey: place.number)
            }
        if removed != nil { count -= 1 }
    }

    /// Removes and returns the next transfer; nil if the queue is empty.
    mutating func popFirst() -> HTTPTransfer? {
        if let transfer = repeated.popFirst() {
            count -= 1
            return transfer
        }
        while !turns.isEmpty {
            if turn >= turns.count { turn = 0 }
            let holder = turns[turn]
            if let transfer = lanes[holder]?.popFirst() {
                turn += 1
                count -= 1
                return transfer
            }
            lanes[holder] = nil
            turns.remove(at: turn)
        }
        return nil
    }

    /// The request that is displaced by one of `holder` when the queue is full: the last of the network that has the
    /// most; nil if no network has more than `holder` would have.
    func yielding(to holder: ClientNetwork) -> HTTPTransfer? {
        guard let largest = lanes.values.max(by: { $0.transfers.count < $1.transfers.count }),
            largest.transfers.count > (lanes[holder]?.transfers.count ?? 0) + 1
        else { return nil }
        return largest.transfers.max { $0.key < $1.key }?.value
    }
}
