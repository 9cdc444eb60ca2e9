import Glibc

/// A sequence of requested names, the same in every run.
struct Trace {
    let title: String
    let names: [Int]

    /// Names whose popularity follows Zipf's law.
    static func zipf(_ alpha: Double, names count: Int, requests: Int) -> Trace {
        var source = Zipf(alpha: alpha, count: count)
        return Trace(title: "Zipf \(alpha)", names: (0..<requests).map { _ in source.next() })
    }

    /// As `zipf`, with a scan over names that are otherwise never requested after every `period` requests.
    static func scanned(_ alpha: Double, names count: Int, requests: Int, period: Int, scan: Int) -> Trace {
        var source = Zipf(alpha: alpha, count: count)
        var fresh = count
        var names: [Int] = []
        while names.count < requests {
            for _ in 0..<period { names.append(source.next()) }
            names += fresh..<fresh + scan
            fresh += scan
        }
        return Trace(title: "Zipf \(alpha), scans of \(scan) every \(period)", names: names)
    }

    /// As `zipf`, with popularity that moves: every `period` requests all ranks move on by `shift` names.
    static func shifting(_ alpha: Double, names count: Int, requests: Int, period: Int, shift: Int) -> Trace {
        var source = Zipf(alpha: alpha, count: count)
        let names = (0..<requests).map { (source.next() + $0 / period * shift) % count }
        return Trace(title: "Zipf \(alpha), moving on by \(shift) names every \(period)", names: names)
    }

    /// The same names repeatedly, in order.
    static func loop(names count: Int, requests: Int) -> Trace {
        Trace(title: "loop over \(count) names", names: (0..<requests).map { $0 % count })
    }
}

/// Generates ranks from 0 on; the probability of rank k is proportional to 1 / (k + 1) ^ alpha.
struct Zipf {
    private var random = Random()
    private let cumulative: [Double]

    init(alpha: Double, count: Int) {
        var sum = 0.0
        cumulative = (1...count).map { rank in
            sum += pow(Double(rank), -alpha)
            return sum
        }
    }

    mutating func next() -> Int {
        let target = random.unit() * (cumulative.last ?? 0)
        var low = 0
        var high = cumulative.count - 1
        while low < high {
            let middle = (low + high) / 2
            if cumulative[middle] > target { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// A small reproducible generator (SplitMix64).
struct Random {
    private var state: UInt64 = 20_240_415

    /// A number from 0 to below 1.
    mutating func unit() -> Double {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return Double((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53
    }
}
