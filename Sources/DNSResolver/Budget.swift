/// The time of one question, counted from the arrival of its query (Documentation/Architecture.md, "Time").
package enum Budget {
    /// The client has its response in any case.
    ///
    /// Stub resolvers of the C library give up after 5 s and retry with the next server: this reaches them with a margin.
    package static let answer: Duration = .milliseconds(2_300)
    /// A source is no longer asked.
    package static let lastStart: Duration = .milliseconds(1_900)
}
