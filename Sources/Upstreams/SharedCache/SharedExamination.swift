import Platform
package import Scheduling

/// What Redis did when it was asked by the commands of a look-up, for people.
package struct SharedExamination: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        /// No connection, or no reply in time; why.
        case unreachable(String)
        /// It does not carry out a command that look-ups need.
        case refuses(command: String, reason: String)
        /// - latency: of one command on an open connection.
        case works(latency: Duration)
    }

    /// Host and port, or the path.
    package let place: String
    package let outcome: Outcome

    package init(place: String, outcome: Outcome) {
        self.place = place
        self.outcome = outcome
    }
}

extension SharedStore {
    /// Milliseconds until Redis removes what is written here, should that not be removed here.
    private static let lifetime = Array("1000".utf8)

    /// Writes, reads and removes a value of its own, and ends the connections: for a program that does nothing else.
    ///
    /// - Parameter deadline: of the whole.
    package func examine(until deadline: Instant) async -> SharedExamination {
        // What waits then has no reply.
        let end = clock.schedule(at: deadline) { [self] in close() }
        let outcome = await outcome(until: deadline)
        end.cancel()
        close()
        return SharedExamination(place: name, outcome: outcome)
    }

    private func outcome(until deadline: Instant) async -> SharedExamination.Outcome {
        guard let connection = await redis.reached(until: deadline) else { return unreachable }
        // The greeting goes first: a refused password is known by its reply, and a long handshake is no latency.
        switch await reply({ connection.send(RedisCommand("PING"), until: nil, $0) }) {
        case nil: return unreachable
        case .error(let reason)?: return .refuses(command: "PING", reason: reason)
        case .some: break
        }
        let name = Array("\(settings.prefix)doctor:\(UInt64.random(in: 0...(.max)))".utf8)
        var latency = Duration.zero
        for (text, command) in commands(name) {
            let began = clock.now
            switch await reply({ redis.send(command, $0) }) {
            case nil: return unreachable
            case .error(let reason)?: return .refuses(command: text, reason: reason)
            case .some: latency = clock.now - began
            }
        }
        return .works(latency: latency)
    }

    /// Those of a look-up that finds nothing and of an answer that is written, each with its words.
    private func commands(_ name: [UInt8]) -> [(String, RedisCommand)] {
        let (value, expiry) = (Array("doctor".utf8), [Array("PX".utf8), Self.lifetime])
        var commands = [
            ("SET", RedisCommand("SET", [name, value] + expiry)), ("GET", RedisCommand("GET", name)),
            ("DEL", RedisCommand("DEL", name)),
        ]
        if settings.takesLease {
            let lease = [name, value, Array("NX".utf8), Array("GET".utf8)] + expiry
            commands.insert(("SET NX GET", RedisCommand("SET", lease)), at: 0)
            commands.append(("PUBLISH", RedisCommand("PUBLISH", name + Array(":done".utf8), [])))
        }
        if settings.countsCalls {
            let script = "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)"
            let words = [script, "1"].map { Array($0.utf8) } + [name, value]
            commands.insert(("EVAL", RedisCommand("EVAL", words)), at: 0)
        }
        return commands
    }

    /// The reply to what `send` sends; nil: none.
    private func reply(_ send: (@escaping RedisChannel.Completion) -> Bool) async -> RedisReply? {
        await withCheckedContinuation { continuation in
            if !send({ continuation.resume(returning: $0) }) { continuation.resume(returning: nil) }
        }
    }

    private var unreachable: SharedExamination.Outcome {
        .unreachable(redis.lastFailure.isEmpty ? "no reply" : redis.lastFailure)
    }
}
