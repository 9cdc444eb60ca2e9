/// When what happens to one question, counted from the moment at which its query came in (Documentation/Architecture.md, "Time").
///
/// Resolvers of the C library give up after 5 s and retry elsewhere; an answer by 2.3 s reaches them with room to spare.
package enum Budget {
    /// The next provider, or else another address of the same one, is asked as well, where the first usually answers sooner.
    package static let hedge: Duration = .milliseconds(300)
    /// The same where the first is usually slow.
    package static let latestHedge: Duration = .milliseconds(800)
    /// LocalDNS is asked in reserve; at once when every provider is set aside.
    package static let reserve: Duration = .milliseconds(500)
    /// An answer of LocalDNS that certificates prove need not wait for HTTPDNS any longer: an address of a service that is
    /// usually slow has answered by now (`latestHedge`), and one that is silent is found out by its probe.
    package static let verified: Duration = .milliseconds(800)
    /// HTTPDNS is no longer waited for, and LocalDNS no longer asked.
    package static let lastStart: Duration = .milliseconds(1_900)
    /// Once one address of LocalDNS has proved to be the name's, its further ones have so long in all.
    package static let check: Duration = .milliseconds(400)
    /// The certificates of LocalDNS's addresses are looked at no longer: what follows must be in time.
    package static let checked: Duration = .milliseconds(2_250)
    /// The client has its answer, whatever happened.
    package static let answer: Duration = .milliseconds(2_300)
}
