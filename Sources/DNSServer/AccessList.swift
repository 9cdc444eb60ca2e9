package import DNSWire

/// Which clients are answered: `[listen] allow`.
///
/// The prefixes are converted to disjoint sorted ranges, so that a look-up is a binary search; for loopback addresses
/// it is a comparison.
package struct AccessList: Sendable {
    private let ranges4: [ClosedRange<UInt32>]
    private let ranges6: [ClosedRange<UInt128>]
    /// Whether all of 127.0.0.0/8 is allowed.
    private let allowsLoopback4: Bool
    /// Whether ::1 is allowed.
    private let allowsLoopback6: Bool

    /// Allows clients within any of `prefixes`; none if it is empty.
    package init(_ prefixes: [AddressPrefix]) {
        var ranges4: [ClosedRange<UInt32>] = []
        var ranges6: [ClosedRange<UInt128>] = []
        for prefix in prefixes {
            switch prefix.address {
            case .v4(let value): ranges4.append(value...(value | UInt32.max >> UInt32(prefix.length)))
            case .v6(let value): ranges6.append(value...(value | UInt128.max >> UInt128(prefix.length)))
            }
        }
        self.ranges4 = Self.merged(ranges4)
        self.ranges6 = Self.merged(ranges6)
        allowsLoopback4 = self.ranges4.contains { $0.contains(0x7f00_0000) && $0.contains(0x7fff_ffff) }
        allowsLoopback6 = self.ranges6.contains { $0.contains(1) }
    }

    @inline(__always)
    package func allows(_ client: IPAddress) -> Bool {
        switch client {
        case .v4(let value) where allowsLoopback4 && value >> 24 == 127: true
        case .v6(let value) where allowsLoopback6 && value == 1: true
        default: isListed(client)
        }
    }

    private func isListed(_ client: IPAddress) -> Bool {
        switch client {
        case .v4(let value): Self.contains(ranges4, value)
        case .v6(let value): Self.contains(ranges6, value)
        }
    }

    /// Merges ranges into disjoint ones, in ascending order.
    private static func merged<Value: FixedWidthInteger>(_ ranges: [ClosedRange<Value>]) -> [ClosedRange<Value>] {
        var merged: [ClosedRange<Value>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    private static func contains<Value: FixedWidthInteger>(_ ranges: [ClosedRange<Value>], _ value: Value) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < value { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= value
    }
}
