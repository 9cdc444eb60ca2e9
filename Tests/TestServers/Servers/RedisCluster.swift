import TestSupport

/// A Redis Cluster of three servers on the loopback interface, without replicas.
package final class RedisCluster: Sendable {
    package let nodes: [RedisServer]

    /// Starts it, and waits until all nodes agree.
    ///
    /// - Parameters:
    ///   - password: empty: none is wanted.
    ///   - tls: the certificate of all, and the authority that signed it; nil: they have no TLS.
    package init(
        password: String = "", tls: (leaf: TestCertificates.Leaf, authority: String)? = nil
    ) throws {
        let buses = try (0..<3).map { _ in try FreePort.next() }
        nodes = try buses.map { bus in
            try RedisServer(
                password: password, tls: tls,
                options: [
                    "--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--cluster-node-timeout", "2000",
                    "--cluster-require-full-coverage", "no", "--tls-cluster", tls == nil ? "no" : "yes",
                ])
        }
        let bounds = [0, 5_461, 10_923, 16_384]
        for (index, node) in nodes.enumerated() {
            try node.run("CLUSTER", "ADDSLOTSRANGE", "\(bounds[index])", "\(bounds[index + 1] - 1)")
        }
        for (node, bus) in zip(nodes, buses).dropFirst() {
            try nodes[0].run("CLUSTER", "MEET", "127.0.0.1", "\(node.address.port)", "\(bus)")
        }
        let deadline = ContinuousClock.now + .patience
        while try !nodes.allSatisfy({
            let text = try $0.run("CLUSTER", "INFO")
            return text.contains("cluster_state:ok") && text.contains("cluster_slots_assigned:16384")
        }) {
            guard ContinuousClock.now < deadline else { throw TestFailure("the nodes do not form a cluster") }
        }
    }

    /// The names of all answers, with the index of the node that has each.
    package var places: [(name: String, node: Int)] {
        get throws { try nodes.indices.flatMap { node in try nodes[node].names.map { ($0, node) } } }
    }

    /// Waits until it holds so many answers.
    package func waitForAnswers(_ count: Int) throws -> Bool {
        let deadline = ContinuousClock.now + .patience
        while ContinuousClock.now < deadline { if try places.count == count { return true } }
        return false
    }

    /// How many errors of a kind, such as `MOVED`, the nodes have replied with.
    package func errors(_ kind: String) throws -> Int {
        try nodes.reduce(0) { sum, node in
            let lines = try node.run("INFO", "errorstats").split(whereSeparator: \.isNewline)
            let mark = "errorstat_\(kind):count="
            return sum + (lines.compactMap { $0.hasPrefix(mark) ? Int($0.dropFirst(mark.count)) : nil }.first ?? 0)
        }
    }

    /// Begins to move the slot of a name from one node to another: names that are not there any more are redirected once.
    package func beginMove(_ name: String, from source: Int, to target: Int) throws {
        let slot = try nodes[0].run("CLUSTER", "KEYSLOT", name)
        let (from, to) = (try nodes[source].run("CLUSTER", "MYID"), try nodes[target].run("CLUSTER", "MYID"))
        try nodes[target].run("CLUSTER", "SETSLOT", slot, "IMPORTING", from)
        try nodes[source].run("CLUSTER", "SETSLOT", slot, "MIGRATING", to)
        let moved = try nodes[source].run(
            "MIGRATE", "127.0.0.1", "\(nodes[target].address.port)", name, "0", "5000")
        guard moved == "OK" else { throw TestFailure("MIGRATE: \(moved)") }
    }

    /// Ends it: the slot is the other node's.
    package func endMove(_ name: String, to target: Int) throws {
        let slot = try nodes[0].run("CLUSTER", "KEYSLOT", name)
        let to = try nodes[target].run("CLUSTER", "MYID")
        for index in [target] + nodes.indices.filter({ $0 != target }) {
            try nodes[index].run("CLUSTER", "SETSLOT", slot, "NODE", to)
        }
    }
}
