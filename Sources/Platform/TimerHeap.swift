package import Scheduling

/// Timers by due time, the earliest first; equal ones in the order in which they were added.
///
/// A cancelled timer stays until it comes to the top, or until the heap has doubled since it was last cleaned: so at
/// most half of a large heap is dead, and cancelling costs nothing.
@Loop
package struct TimerHeap {
    private struct Entry {
        let instant: Instant
        let serial: UInt64
        let timer: LoopTimer

        func isBefore(_ other: Entry) -> Bool {
            instant == other.instant ? serial < other.serial : instant < other.instant
        }
    }

    /// Below this many entries, cleaning is not worth a scan.
    private nonisolated static let smallest = 64

    private var entries: [Entry] = []
    private var cleanAt = Self.smallest
    /// The number that the next timer added will get; counts up for ever.
    package private(set) var nextSerial: UInt64 = 0

    package nonisolated init() {}

    /// How many entries the heap holds, dead ones included.
    package var count: Int { entries.count }

    package mutating func add(_ timer: LoopTimer, at instant: Instant) {
        if entries.count >= cleanAt { clean() }
        entries.append(Entry(instant: instant, serial: nextSerial, timer: timer))
        nextSerial += 1
        raise(entries.count - 1)
    }

    /// When the earliest live timer is due; `nil` when there is none.
    package mutating func nextDue() -> Instant? {
        while let first = entries.first, !first.timer.isPending { removeFirst() }
        return entries.first?.instant
    }

    /// Takes the earliest live timer if it is due at `now` and was added before `serial` was given out.
    ///
    /// The bound lets a caller run what is due without being held up by timers that these set in turn.
    package mutating func popDue(at now: Instant, before serial: UInt64 = .max) -> LoopTimer? {
        guard let due = nextDue(), due <= now, let first = entries.first, first.serial < serial else { return nil }
        removeFirst()
        return first.timer
    }

    private mutating func removeFirst() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        lower(0)
    }

    /// Drops the dead and restores the order.
    private mutating func clean() {
        entries.removeAll { !$0.timer.isPending }
        for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { lower(index) }
        cleanAt = max(Self.smallest, entries.count * 2)
    }

    private mutating func raise(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index].isBefore(entries[parent]) else { return }
            entries.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func lower(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].isBefore(entries[least]) { least = child }
            }
            guard least != index else { return }
            entries.swapAt(index, least)
            index = least
        }
    }
}
