public import DNSWire

/// Timers by due time, the earliest first; equal ones in the order in which they were added.
///
/// Most timers have one of a few durations and are cancelled long before they are due. Timers of one duration are added
/// in the order in which they are due, so they are stored in a row of their own, where adding and removing cost
/// nothing; a timer that fits no row is put among those of the row that ends soonest. A cancelled timer stays until it reaches
/// the front, or until there are twice as many timers as after the last cleaning: so at most half of a large queue is
/// cancelled timers.
@Loop
public struct TimerQueue {
    private struct Entry {
        let instant: Instant
        let serial: UInt64
        let timer: LoopTimer
    }

    /// Timers in the order in which they are due.
    @Loop
    private struct Row {
        private var entries: ContiguousArray<Entry> = []
        /// Entries before this index were removed already.
        private var start = 0

        /// The earliest; the row must not be empty.
        var first: Entry { entries[start] }
        /// By which the earliest is compared with that of another row.
        var order: (Instant, UInt64) { (entries[start].instant, entries[start].serial) }
        var isEmpty: Bool { start == entries.count }
        /// The due time of the last timer; nil when it is empty.
        var end: Instant? { start < entries.count ? entries[entries.count - 1].instant : nil }

        /// Adds the timer that was added last of all.
        mutating func add(_ entry: Entry) {
            // Half of it was removed: moving the rest costs no more than the removals did.
            if start > 32, start * 2 > entries.count {
                entries.removeSubrange(..<start)
                start = 0
            }
            var place = entries.count
            while place > start, entries[place - 1].instant > entry.instant { place -= 1 }
            entries.insert(entry, at: place)
        }

        /// Removes cancelled timers from the front. Returns how many.
        mutating func dropDead() -> Int {
            let before = start
            while start < entries.count, !entries[start].timer.isPending { start += 1 }
            let dropped = start - before
            if dropped > 0 { emptyIfTaken() }
            return dropped
        }

        mutating func removeFirst() {
            start += 1
            emptyIfTaken()
        }

        private mutating func emptyIfTaken() {
            guard start == entries.count else { return }
            entries.removeAll(keepingCapacity: start <= 1_024)
            start = 0
        }

        /// Removes all cancelled timers. Returns how many entries are left.
        mutating func clean() -> Int {
            var live = 0
            for index in start..<entries.count where entries[index].timer.isPending {
                entries.swapAt(live, index)
                live += 1
            }
            entries.removeSubrange(live...)
            start = 0
            // The room of a row that was long is not retained.
            if entries.capacity > 1_024, live < entries.capacity / 8 {
                var shorter = ContiguousArray<Entry>()
                shorter.reserveCapacity(live)
                shorter += entries
                entries = shorter
            }
            return live
        }
    }

    /// Below this number of entries, cleaning is not worth a scan.
    private nonisolated static let smallest = 64
    private nonisolated static let rowLimit = 8

    private var rows: [Row] = []
    private var cleanAt = Self.smallest
    /// The serial of the next timer added; never reused.
    public private(set) var nextSerial: UInt64 = 0

    public nonisolated init() {}

    /// The number of entries, cancelled ones included.
    public private(set) var count = 0

    public mutating func add(_ timer: LoopTimer, at instant: Instant) {
        if count >= cleanAt { clean() }
        let entry = Entry(instant: instant, serial: nextSerial, timer: timer)
        nextSerial += 1
        count += 1
        rows[row(for: instant)].add(entry)
    }

    // The loops below are without closures: the runtime checks at each call of one that it is on the loop.

    /// The row whose last timer is due latest, but not after this one; else an empty row, else the one that ends soonest.
    private mutating func row(for instant: Instant) -> Int {
        var (best, soonest): ((index: Int, end: Instant)?, (index: Int, end: Instant)?)
        var empty: Int?
        for index in rows.indices {
            guard let end = rows[index].end else {
                empty = empty ?? index
                continue
            }
            if end <= instant {
                if let best, best.end >= end { continue }
                best = (index, end)
            } else {
                if let soonest, soonest.end <= end { continue }
                soonest = (index, end)
            }
        }
        if let index = best?.index ?? empty { return index }
        if rows.count == Self.rowLimit, let soonest { return soonest.index }
        rows.append(Row())
        return rows.count - 1
    }

    /// When the earliest pending timer is due; `nil` when there is none.
    public mutating func nextDue() -> Instant? {
        guard let row = front() else { return nil }
        return rows[row].first.instant
    }

    /// Removes and returns the earliest pending timer if it is due at `now` and was added before `serial` was assigned.
    ///
    /// The bound lets a caller run the due timers without running those that they add in turn.
    public mutating func popDue(at now: Instant, before serial: UInt64 = .max) -> LoopTimer? {
        guard let row = front() else { return nil }
        let first = rows[row].first
        guard first.instant <= now, first.serial < serial else { return nil }
        rows[row].removeFirst()
        count -= 1
        return first.timer
    }

    /// The row with the earliest pending timer.
    private mutating func front() -> Int? {
        var front: Int?
        for index in rows.indices {
            count -= rows[index].dropDead()
            guard !rows[index].isEmpty else { continue }
            if let front, rows[front].order < rows[index].order { continue }
            front = index
        }
        return front
    }

    /// Removes cancelled timers.
    private mutating func clean() {
        count = 0
        for index in rows.indices { count += rows[index].clean() }
        cleanAt = max(Self.smallest, count * 2)
    }
}
