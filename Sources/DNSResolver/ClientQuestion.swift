package import DNSWire
package import Scheduling

/// One client's question, as the server passes it to the resolver. An object: every step that waits refers to it.
package final class ClientQuestion: Sendable {
    /// In the client's letter case.
    package let question: Question
    package let dnssecOK: Bool
    package let checkingDisabled: Bool
    /// The client's address; for limits, rules and client subnets.
    package let client: IPAddress
    /// The client network whose fair share the question counts against.
    package let network: ClientNetwork
    /// Whether its network may not be sent to any upstream.
    package let hidesNetwork: Bool
    /// When the query was received: every deadline counts from here.
    package let arrived: Instant
    /// Where its steps are noted; nil: nowhere.
    let trace: Trace?

    /// - Parameter network: nil: that of the address.
    package init(
        question: Question, dnssecOK: Bool = false, checkingDisabled: Bool = false, client: IPAddress,
        network: ClientNetwork? = nil, hidesNetwork: Bool = false, arrived: Instant, trace: Trace? = nil
    ) {
        self.trace = trace
        self.question = question
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.client = client
        self.network = network ?? ClientNetwork(client)
        self.hidesNetwork = hidesNetwork
        self.arrived = arrived
    }
}

extension ClientQuestion {
    /// Notes a step, if the question is traced.
    @Loop @inline(__always)
    func note(_ kind: Trace.Kind, _ text: @autoclosure () -> String) {
        trace?.add(kind, text())
    }

    /// Whether the client validates signatures, or wants them.
    var isSigned: Bool { dnssecOK || checkingDisabled }

    /// The same client's question for another type, of class IN.
    func asking(for type: RecordType) -> ClientQuestion {
        ClientQuestion(
            question: Question(name: question.name, type: type), dnssecOK: dnssecOK,
            checkingDisabled: checkingDisabled, client: client, network: network, hidesNetwork: hidesNetwork,
            arrived: arrived, trace: trace)
    }
}

/// The time of one question, counted from the arrival of its query (Documentation/Strategy.md).
package enum Budget {
    /// The client has its response in any case.
    ///
    /// Stub resolvers of the C library give up after 5 s and retry with the next server: this reaches them with a margin.
    package static let answer: Duration = .nanoseconds(Strategy.end)
    /// A source is no longer asked.
    package static let lastStart: Duration = .nanoseconds(Strategy.lastAsk)
}
