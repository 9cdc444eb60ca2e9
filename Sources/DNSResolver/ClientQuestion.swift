package import DNSWire
package import Scheduling

/// One client's question, as the server hands it to the resolver.
package struct ClientQuestion: Sendable {
    /// In the client's letter case.
    package var question: Question
    /// What an answer is found by in the cache that is the same for all clients.
    package var key: QueryKey
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// Who asks; for limits, rules and client subnets.
    package var client: IPAddress
    /// Whether nobody may be told its network.
    package var hidesNetwork: Bool
    /// When the query was received: every deadline counts from here.
    package var arrived: Instant

    package init(
        question: Question, key: QueryKey, dnssecOK: Bool = false, checkingDisabled: Bool = false, client: IPAddress,
        hidesNetwork: Bool = false, arrived: Instant
    ) {
        self.question = question
        self.key = key
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.client = client
        self.hidesNetwork = hidesNetwork
        self.arrived = arrived
    }
}
