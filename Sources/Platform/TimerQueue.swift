package import Scheduling

/// Timers by due time, the earliest first; equal ones in the order in which they were added.
///
/// Most timers wait for one of a few lengths of time and are cancelled long before. Those of one length come in the order in
/// which they are due, so they stand in a row of their own, where adding and removing cost nothing; what fits in no row goes
/// into a heap. A cancelled timer stays until it comes to the front, or until there are twice as many timers as when they
/// were last cleaned: so at most half of many is dead.
@Loop
package struct TimerQueue {
    private struct Entry {
        let instant: Instant
        let serial: UInt64
        let timer: LoopTimer

        func isBefore(_ other: Entry) -> Bool {
            instant == other.instant ? serial < other.serial : instant < other.instant
        }
    }

    /// Timers in the order in which they are due.
    @Loop
    private struct Row {
        private var entries: ContiguousArray<Entry> = []
        /// Those before were taken already.
        private var start = 0

        var count: Int { entries.count - start }
        var first: Entry? { start < entries.count ? entries[start] : nil }
        var last: Entry? { start < entries.count ? entries.last : nil }

        mutating func append(_ entry: Entry) {
            // Half of it taken: moving the rest costs no more than what was taken did.
            if start > 32, start * 2 > entries.count {
                entries.removeSubrange(..<start)
                start = 0
            }
            entries.append(entry)
        }

        mutating func removeFirst() {
            start += 1
            if start == entries.count {
                entries.removeAll(keepingCapacity: start <= 1_024)
                start = 0
            }
        }

        mutating func clean() {
            entries = ContiguousArray(entries[start...].filter { $0.timer.isPending })
            start = 0
        }
    }

    /// Below this many entries, cleaning is not worth a scan.
    private nonisolated static let smallest = 64
    private nonisolated static let rowLimit = 8

    private var rows: [Row] = []
    private var heap: [Entry] = []
    private var cleanAt = Self.smallest
    /// The number that the next timer added will get; counts up for ever.
    package private(set) var nextSerial: UInt64 = 0

    package nonisolated init() {}

    /// How many entries there are, dead ones included.
    package var count: Int { rows.reduce(heap.count) { $0 + $1.count } }

    package mutating func add(_ timer: LoopTimer, at instant: Instant) {
        if count >= cleanAt { clean() }
        let entry = Entry(instant: instant, serial: nextSerial, timer: timer)
        nextSerial += 1
        if let row = row(for: instant) { return rows[row].append(entry) }
        heap.append(entry)
        raise(heap.count - 1)
    }

    /// The row whose last timer is due soonest before this one; else one that is empty.
    private mutating func row(for instant: Instant) -> Int? {
        var best: (index: Int, instant: Instant)?
        var empty: Int?
        for index in rows.indices {
            guard let last = rows[index].last?.instant else {
                empty = empty ?? index
                continue
            }
            if last <= instant, best.map({ $0.instant < last }) ?? true { best = (index, last) }
        }
        if let best { return best.index }
        if let empty { return empty }
        guard rows.count < Self.rowLimit else { return nil }
        rows.append(Row())
        return rows.count - 1
    }

    /// When the earliest live timer is due; `nil` when there is none.
    package mutating func nextDue() -> Instant? { front()?.entry.instant }

    /// Takes the earliest live timer if it is due at `now` and was added before `serial` was given out.
    ///
    /// The bound lets a caller run what is due without being held up by timers that these set in turn.
    package mutating func popDue(at now: Instant, before serial: UInt64 = .max) -> LoopTimer? {
        guard let (entry, row) = front(), entry.instant <= now, entry.serial < serial else { return nil }
        if let row { rows[row].removeFirst() } else { removeFirst() }
        return entry.timer
    }

    /// The earliest live timer, and its row if it stands in one.
    private mutating func front() -> (entry: Entry, row: Int?)? {
        while let first = heap.first, !first.timer.isPending { removeFirst() }
        var front: (entry: Entry, row: Int?)? = heap.first.map { ($0, nil) }
        for index in rows.indices {
            while let first = rows[index].first, !first.timer.isPending { rows[index].removeFirst() }
            if let first = rows[index].first, front.map({ first.isBefore($0.entry) }) ?? true { front = (first, index) }
        }
        return front
    }

    private mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        lower(0)
    }

    /// Drops the dead and restores the order.
    private mutating func clean() {
        for index in rows.indices { rows[index].clean() }
        heap.removeAll { !$0.timer.isPending }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { lower(index) }
        cleanAt = max(Self.smallest, count * 2)
    }

    private mutating func raise(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].isBefore(heap[parent]) else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func lower(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
                if heap[child].isBefore(heap[least]) { least = child }
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
