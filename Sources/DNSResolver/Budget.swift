/// Times of the steps of one question, counted from the arrival of its query (Documentation/Architecture.md, "Time").
///
/// Stub resolvers of the C library give up after 5 s and retry with the next server; an answer by 2.3 s reaches them
/// with a margin.
package enum Budget {
    /// The next provider, or else another address of the same one, is asked as well, where the first usually answers
    /// sooner.
    package static let hedge: Duration = .milliseconds(300)
    /// The same where the first is usually slow.
    package static let latestHedge: Duration = .milliseconds(800)
    /// A provider that is spared as a hedge (`hedge = false`) is asked nevertheless: with this much time left an answer
    /// still comes before `lastStart`.
    package static let spared: Duration = .seconds(1)
    /// LocalDNS is asked as fallback; at once when every provider is in backoff, and no probe is young (`verified`).
    package static let reserve: Duration = .milliseconds(500)
    /// An answer of LocalDNS that is verified by certificates waits for HTTPDNS no longer: an address of a service that
    /// is usually slow has answered by now (`latestHedge`), and one that is silent is detected by its probe. For as long a
    /// probe counts as an attempt of each question, while every provider is in backoff.
    package static let verified: Duration = .milliseconds(800)
    /// HTTPDNS is no longer waited for, and LocalDNS is no longer asked.
    package static let lastStart: Duration = .milliseconds(1_900)
    /// Once one address of LocalDNS is verified, the time that its further ones have in all.
    package static let check: Duration = .milliseconds(400)
    /// Certificate checks of LocalDNS's addresses end: the steps that follow must be in time.
    package static let checked: Duration = .milliseconds(2_250)
    /// The client has its response in any case.
    package static let answer: Duration = .milliseconds(2_300)
}
