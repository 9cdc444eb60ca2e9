/// What the file knows about the settings of the clock.
///
/// Whenever the clock is found behind a time at which something was written, a new epoch begins. Of an answer of an earlier
/// one the age is not known: nothing says which of the times was wrong.
struct ClockMark: Equatable {
    /// The time of day of the last writing, in seconds since 1970; 0: none.
    private(set) var latest: Int64 = 0
    private(set) var epoch: UInt16
    /// The latest time of day before the clock was set back, in seconds since 1970; 0: it never was.
    private(set) var former: Int64 = 0

    /// The mark of a file that has none: whatever answers it has are of another epoch.
    init() { epoch = .random(in: .min ... .max) }

    /// Notes a plausible time of day at which something is written.
    mutating func follow(_ seconds: Int64) {
        noteSetting(seconds)
        latest = seconds
    }

    /// Begins a new epoch if the clock is behind.
    mutating func noteSetting(_ seconds: Int64) {
        guard seconds < latest else { return }
        former = max(former, latest)
        epoch &+= 1
        latest = seconds
    }

    /// Seconds since an answer was stored that is of use for `usefulness` seconds; nil where that is not known.
    func age(of head: AnswerHead, at reading: WallClock.Reading, usefulness: Int64) -> Int64? {
        let (now, age) = (reading.secondsSince1970, reading.secondsSince1970 - head.storedAt)
        guard head.epoch == epoch, head.storedAt >= WallClock.earliest, now >= latest, age >= 0 else { return nil }
        // Where the clock has come to its former time again since then, that time was right as it seems, and the clock behind
        // in between.
        let mayBeYounger = former <= now && now <= beginning(of: head.storedAt) + usefulness
        return age > usefulness && mayBeYounger ? nil : age
    }

    /// The seconds since 1970 from which on the usefulness of an answer counts.
    func beginning(of storedAt: Int64) -> Int64 { max(storedAt, former) }

    /// As what it is stored.
    var record: StateRecord { StateRecord(.clock, "", value: "\(epoch) \(former)", storedAt: latest) }

    /// - Returns: nil for what is never written.
    init?(_ text: String, latest: Int64) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count == 2, let epoch = UInt16(fields[0]), let former = Int64(fields[1]),
            WallClock.range.contains(former), WallClock.range.contains(latest)
        else { return nil }
        (self.latest, self.epoch, self.former) = (latest, epoch, former)
    }
}
