package import DNSWire
package import Scheduling

/// One client's question, as the server hands it to the resolver. An object: the key in it is long, and every
/// step that waits for something refers to it.
package final class ClientQuestion: Sendable {
    /// In the client's letter case.
    package let question: Question
    /// What an answer is found by in the cache that is the same for all clients.
    package let key: QueryKey
    package let dnssecOK: Bool
    package let checkingDisabled: Bool
    /// Who asks; for limits, rules and client subnets.
    package let client: IPAddress
    /// In whose share of what is bounded the question is.
    package var network: ClientNetwork { ClientNetwork(client) }
    /// Whether nobody may be told its network.
    package let hidesNetwork: Bool
    /// When the query was received: every deadline counts from here.
    package let arrived: Instant

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
