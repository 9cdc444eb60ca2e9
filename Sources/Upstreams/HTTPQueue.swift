/// Requests that wait for their turn, first in, first out; any of them can leave at once.
struct HTTPQueue {
    typealias Place = Int

    private var transfers: [Place: HTTPTransfer] = [:]
    private var first: Place = 0
    private var end: Place = 0

    var count: Int { transfers.count }

    /// All that wait, in no order.
    var all: some Sequence<HTTPTransfer> { transfers.values }

    /// Puts a transfer last.
    mutating func append(_ transfer: HTTPTransfer) -> Place {
        transfers[end] = transfer
        end += 1
        return end - 1
    }

    /// Puts a transfer first: one that has waited before.
    mutating func prepend(_ transfer: HTTPTransfer) -> Place {
        first -= 1
        transfers[first] = transfer
        return first
    }

    /// Takes a transfer out.
    mutating func remove(_ place: Place) { transfers[place] = nil }

    /// Takes the first one out; nil when none waits.
    mutating func popFirst() -> HTTPTransfer? {
        while first < end {
            defer { first += 1 }
            if let transfer = transfers.removeValue(forKey: first) { return transfer }
        }
        return nil
    }
}
