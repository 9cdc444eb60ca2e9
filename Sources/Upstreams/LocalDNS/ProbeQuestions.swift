import DNSWire

/// A few questions that a server has answered, with which it is probed: some servers, such as those of a VPN, drop what
/// is outside of their zones, and so also a query for the root.
///
/// Clients have chosen the names. So the first ones stay, however many others are answered; one client network has all
/// places only while no other needs one; and a server is silent only when it answers none of them.
struct ProbeQuestions: Sendable {
    /// The most questions.
    static let limit = 4

    private var answered: [(question: Question, holder: ClientNetwork)] = []

    /// The questions, each for another name.
    var all: [Question] { answered.map(\.question) }

    /// Called when the server has answered a question of a client network.
    mutating func add(_ question: Question, for holder: ClientNetwork) {
        guard !answered.contains(where: { $0.question.name == question.name }) else { return }
        if answered.count == Self.limit {
            guard let displaced = displaced(by: holder) else { return }
            answered.remove(at: displaced)
        }
        answered.append((question, holder))
    }

    /// The last question of the client network that has most places, if it has at least two more than `holder`.
    private func displaced(by holder: ClientNetwork) -> Int? {
        func count(_ network: ClientNetwork) -> Int { answered.count { $0.holder == network } }
        guard let largest = answered.map(\.holder).max(by: { count($0) < count($1) }),
            count(largest) >= count(holder) + 2
        else { return nil }
        return answered.lastIndex { $0.holder == largest }
    }

    /// Called when the server has answered another question at the same time, but not this one.
    mutating func remove(_ question: Question) { answered.removeAll { $0.question == question } }
}
