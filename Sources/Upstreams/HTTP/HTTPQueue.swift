import DNSWire

/// Requests that wait for their turn: each client network's first in, first out, the networks by turns; any of them can
/// leave at once.
///
/// So a client that asks for many names waits behind its own requests, and no other client does.
struct HTTPQueue {
    struct Place {
        /// Nil: it goes before all networks.
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
    /// Those that have waited before.
    private var repeated = Lane()
    private var lanes: [ClientNetwork: Lane] = [:]
    /// The networks that have a lane, in the order of their turns.
    private var turns: [ClientNetwork] = []
    /// The place in `turns` of the next one.
    private var turn = 0

    /// All that wait, in no order.
    var all: [HTTPTransfer] { Array(repeated.transfers.values) + lanes.values.flatMap(\.transfers.values) }

    /// Puts a transfer behind those of its client network.
    mutating func append(_ transfer: HTTPTransfer) -> Place {
        let holder = transfer.holder
        if lanes[holder] == nil {
            lanes[holder] = Lane()
            turns.append(holder)
        }
        count += 1
        return Place(holder: holder, number: lanes[holder, default: Lane()].append(transfer))
    }

    /// Puts a transfer that has waited before ahead of all others.
    mutating func prepend(_ transfer: HTTPTransfer) -> Place {
        count += 1
        return Place(holder: nil, number: repeated.append(transfer))
    }

    /// Takes a transfer out.
    mutating func remove(_ place: Place) {
        let removed =
            if let holder = place.holder {
                lanes[holder]?.transfers.removeValue(forKey: place.number)
            } else {
                repeated.transfers.removeValue(forKey: place.number)
            }
        if removed != nil { count -= 1 }
    }

    /// Takes the next one out; nil when none waits.
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

    /// The request that gives way to one of `holder` when there are too many: the last of the network that has most; nil when
    /// no network has more than `holder` would.
    func yielding(to holder: ClientNetwork) -> HTTPTransfer? {
        guard let largest = lanes.values.max(by: { $0.transfers.count < $1.transfers.count }),
            largest.transfers.count > (lanes[holder]?.transfers.count ?? 0) + 1
        else { return nil }
        return largest.transfers.max { $0.key < $1.key }?.value
    }
}
