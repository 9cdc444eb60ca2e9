import Platform
package import Scheduling

/// What encrypted listeners need besides their sockets, and what they count.
@Loop
package final class TLSTerms: Sendable {
    /// Handshakes since the start.
    package struct Counts: Sendable {
        /// Finished with the certificate.
        package var full = 0
        /// Finished by going on from an earlier connection.
        package var resumed = 0
        /// Given up by either side, or too slow.
        package var failed = 0
    }

    /// Of new connections; nil: there is no certificate, and they are closed.
    package var context: TLSContext?
    /// The networks from which each connection begins with a header of the PROXY protocol.
    package var proxies = AccessList([])
    package internal(set) var counts = Counts()

    nonisolated init() {}
}
