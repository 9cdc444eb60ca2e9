import DNSWire

/// Where a request is in an `HTTPQueue`.
struct HTTPQueuePlace {
    /// Nil: ahead of all networks.
    fileprivate let holder: ClientNetwork?
    fileprivate let number: Int
}

/// The requests that wait to be sent: first in, first out for each client network, and round robin among the networks.
/// Any request can be removed at any time.
///
/// So a client that queries many names waits behind its own requests, and delays no other client.
struct HTTPQueue<Request> {
    private struct Lane {
        var requests: [Int: Request] = [:]
        var first = 0
        var end = 0

        mutating func append(_ request: Request) -> Int {
            requests[end] = request
            end += 1
            return end - 1
        }

        mutating func popFirst() -> Request? {
            while first < end {
                defer { first += 1 }
                if let request = requests.removeValue(forKey: first) { return request }
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
    var all: [Request] { Array(repeated.requests.values) + lanes.values.flatMap(\.requests.values) }

    /// Appends a request to those of its client network.
    mutating func append(_ request: Request, of holder: ClientNetwork) -> HTTPQueuePlace {
        if lanes[holder] == nil {
            lanes[holder] = Lane()
            turns.append(holder)
        }
        count += 1
        return HTTPQueuePlace(holder: holder, number: lanes[holder, default: Lane()].append(request))
    }

    /// Puts a request that was queued before ahead of all networks.
    mutating func prepend(_ request: Request) -> HTTPQueuePlace {
        count += 1
        return HTTPQueuePlace(holder: nil, number: repeated.append(request))
    }

    /// Removes a request.
    mutating func remove(_ place: HTTPQueuePlace) {
        let removed =
            if let holder = place.holder {
                lanes[holder]?.requests.removeValue(forKey: place.number)
            } else {
                repeated.requests.removeValue(forKey: place.number)
            }
        if removed != nil { count -= 1 }
    }

    /// Removes and returns the next request; nil if the queue is empty.
    mutating func popFirst() -> Request? {
        if let request = repeated.popFirst() {
            count -= 1
            return request
        }
        while !turns.isEmpty {
            if turn >= turns.count { turn = 0 }
            let holder = turns[turn]
            if let request = lanes[holder]?.popFirst() {
                turn += 1
                count -= 1
                return request
            }
            lanes[holder] = nil
            turns.remove(at: turn)
        }
        return nil
    }

    /// The request that is displaced by one of `holder` when the queue is full: the last of the network that has the
    /// most; nil if no network has more than `holder` would have.
    func yielding(to holder: ClientNetwork) -> Request? {
        guard let largest = lanes.values.max(by: { $0.requests.count < $1.requests.count }),
            largest.requests.count > (lanes[holder]?.requests.count ?? 0) + 1
        else { return nil }
        return largest.requests.max { $0.key < $1.key }?.value
    }
}
