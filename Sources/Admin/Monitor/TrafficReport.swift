package import Platform

/// What the server has counted since its start; nothing in it names a client or a domain name.
package struct TrafficReport: Sendable {
    /// Responses with one transport, address family and response code.
    package struct Responses: Equatable, Sendable {
        /// `udp` or `tcp`.
        package var transport: String
        /// `ipv4` or `ipv6`.
        package var family: String
        /// Such as `NOERROR`.
        package var code: String
        package var count: Int

        package init(transport: String, family: String, code: String, count: Int) {
            (self.transport, self.family, self.code, self.count) = (transport, family, code, count)
        }
    }

    /// A label's value, and how many things have it.
    package struct Count: Equatable, Sendable {
        package var label: String
        package var count: Int

        package init(_ label: String, _ count: Int) { (self.label, self.count) = (label, count) }
    }

    /// A label's value, and how long the things that have it took.
    package struct Latencies: Equatable, Sendable {
        package var label: String
        package var histogram: HistogramReport

        package init(_ label: String, _ histogram: HistogramReport) {
            (self.label, self.histogram) = (label, histogram)
        }
    }

    /// When the process started, in seconds since 1970, and its resources; nil: not read.
    package var started = 0
    package var resources: ProcessResources?
    package var responses: [Responses] = []
    /// From query to response, by the source of the answer.
    package var answers: [Latencies] = []
    /// From request to response, by provider.
    package var providers: [Latencies] = []
    /// Queries that were refused, by the reason.
    package var refusals: [Count] = []
    /// Checks that detected a forged address, by the server of LocalDNS that gave it.
    package var forgeries: [Count] = []
    /// Of a sample of the memory cache: the seconds that an entry within its TTL has left, and the share of the entries that
    /// are past theirs; nil where the sample has none.
    package var ttlLeft: Double?
    package var staleShare: Double?

    package init() {}
}

/// How many values fell into each bucket of a histogram.
package struct HistogramReport: Equatable, Sendable {
    /// The upper bounds of all buckets but the last, in seconds, ascending.
    package let bounds: [Double]
    /// How many values each bucket has, the last those above every bound: one more than `bounds`.
    package let counts: [Int]
    /// The sum of all values, in seconds.
    package let sum: Double

    package init(bounds: [Double], counts: [Int], sum: Double) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }
}
