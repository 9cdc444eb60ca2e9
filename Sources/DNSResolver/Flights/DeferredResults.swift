import Scheduling

/// The results of a flight that are decided only when all its types are known.
@Loop
final class DeferredResults {
    /// What is to be decided, in the order in which it is: the first may lead to those that follow.
    enum Decision: CaseIterable {
        /// A family that a provider calls empty: whether that provider has answered the other one.
        case otherFamilyOfProvider
        /// A denial: whether the name has addresses of the other family.
        case denial
        /// A failure: the same.
        case failure
        /// "No IPv6 address": whether addresses are made of IPv4 addresses in its place.
        case translation
    }

    var results: [(found: SourcedResult, decision: Decision)] = []

    /// Removes and returns the next result.
    func popNext() -> (SourcedResult, Decision)? {
        for decision in Decision.allCases {
            if let index = results.firstIndex(where: { $0.decision == decision }) { return results.remove(at: index) }
        }
        return nil
    }
}
