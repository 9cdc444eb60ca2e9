import DNSResolver

extension CallQuota.Record {
    /// As it is stored on disk: day, month, and when counting for the month began.
    var storedText: String {
        "\(day.storedText) \(month.storedText) \(since ?? 0)"
    }

    /// Nil for what makes no sense.
    init?(storedText: String) {
        let numbers = storedText.split(separator: " ").map { Int64($0) }
        guard numbers.count == 7, numbers.allSatisfy({ $0 != nil }) else { return nil }
        let known = numbers.compactMap(\.self)
        guard let day = CallCount(stored: known[0..<3]), let month = CallCount(stored: known[3..<6]) else { return nil }
        self.init(day: day, month: month, since: known[6])
    }
}

extension CallCount {
    fileprivate var storedText: String { "\(period) \(calls) \(billed)" }

    fileprivate init?(stored: ArraySlice<Int64>) {
        let numbers = Array(stored)
        guard numbers.count == 3, numbers[1] >= 0, numbers[2] >= 0 else { return nil }
        self.init(period: numbers[0], calls: Int(numbers[1]), billed: Int(numbers[2]))
    }
}
