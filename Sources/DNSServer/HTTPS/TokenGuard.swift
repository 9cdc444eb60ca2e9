public import DNSWire
import HTTPDNS

/// Decides about the tokens that clients send, and brakes those that guess.
///
/// Wrong ones count by client network and by how they begin: behind one address one program with an old token does not
/// lock out another with a right one. From the eleventh in a minute on, a right one that begins so has to wait, too, until
/// the minute is over, for else guessing would only be slower; but not one that has come from the network before. A network
/// that tries many beginnings has ten more for all the others together, so that it has 90 guesses a minute at most.
@Loop
public final class TokenGuard {
    /// What is answered.
    public enum Decision: Equatable {
        case allowed
        case wrong
        /// Too many were wrong.
        case braked
    }

    /// What a client sends as a secret, as far as it is remembered: not as text.
    public struct Guess {
        /// How many bytes of a token count as its beginning.
        private static let beginning = 4

        fileprivate let beginning: Int
        fileprivate let whole: Int

        /// A token.
        public init(atToken token: some Collection<UInt8>) {
            beginning = Self.hash(token.prefix(Self.beginning))
            whole = Self.hash(token)
        }

        /// What only the holder of an account can make: all guesses at the account count together.
        public init(atAccount id: some Collection<UInt8>) {
            beginning = Self.hash(id)
            whole = beginning
        }

        // The hasher has a key of this process.
        private static func hash(_ bytes: some Collection<UInt8>) -> Int {
            var hasher = Hasher()
            for byte in bytes { hasher.combine(byte) }
            return hasher.finalize()
        }
    }

    /// Wrong tokens of one beginning that a network may send in an interval.
    nonisolated static let guesses = 10
    public nonisolated static let interval: Duration = .seconds(60)
    /// Beginnings of one network that are counted by themselves, and right tokens of it that are remembered.
    nonisolated static let beginnings = 8
    /// Networks that are remembered; beyond that all are forgotten, since a guess has no hope in any case.
    private nonisolated static let capacity = 4_096

    private struct Record {
        /// When the first of those that count was wrong.
        var since: Instant
        /// Wrong ones by their beginnings, at most `beginnings`.
        var wrong: [Int: Int] = [:]
        /// Those of all other beginnings.
        var others = 0
        /// Right ones that are let in whatever else comes, the last ones.
        var known: [Int] = []

        mutating func add(_ beginning: Int) {
            if wrong[beginning] != nil || wrong.count < TokenGuard.beginnings {
                wrong[beginning, default: 0] += 1
            } else {
                others += 1
            }
        }

        func isBraked(_ beginning: Int) -> Bool {
            let count = wrong[beginning] ?? (wrong.count < TokenGuard.beginnings ? 0 : others)
            return count >= TokenGuard.guesses
        }
    }

    private var records: [ClientNetwork: Record] = [:]
    /// The number of networks that are remembered.
    var networks: Int { records.count }
    /// Wrong tokens since the start.
    public private(set) var wrong = 0

    public nonisolated init() {}

    /// Decides about a token, or another credential.
    public func decide(_ guess: Guess, isRight: Bool, from network: ClientNetwork, now: Instant) -> Decision {
        var record = records[network] ?? Record(since: now)
        if now - record.since >= Self.interval { (record.since, record.wrong, record.others) = (now, [:], 0) }
        let isBraked = record.isBraked(guess.beginning)
        if isRight {
            if record.known.contains(guess.whole) { return .allowed }
            if isBraked { return .braked }
            record.known = record.known.suffix(Self.beginnings - 1) + [guess.whole]
        } else {
            record.add(guess.beginning)
            wrong += 1
        }
        if records[network] == nil, records.count >= Self.capacity { records = [:] }
        records[network] = record
        return isRight ? .allowed : isBraked ? .braked : .wrong
    }
}

/// The tokens of `[listen] tokens`: a client that has one in its path is answered whatever `allow` says.
public struct AccessTokens: Sendable {
    private let tokens: [[UInt8]]

    /// - Parameter tokens: secrets, of the characters that a path has as they are.
    public init(_ tokens: [String] = []) { self.tokens = tokens.map { Array($0.utf8) } }

    public var isEmpty: Bool { tokens.isEmpty }

    /// Whether a text is one of the tokens. How long that takes tells nothing about what the tokens are but their length.
    func contain(_ text: ArraySlice<UInt8>) -> Bool {
        // All are compared, also behind the right one.
        tokens.count { areEqual($0, text) } > 0
    }
}
