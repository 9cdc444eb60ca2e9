import Testing

/// `Race` against a second reading of the strategy, by another hand.
struct VectorTests {
    @Test("each vector is asked, checked, given and cached as in the model", arguments: Vector.all.indices)
    func vector(number: Int) {
        let vector = Vector.all[number]
        // The model leaves out what comes with what a client wanted.
        let extra = ["A", "AAAA"].filter { type in !vector.expected.contains { $0.hasPrefix("end cache \(type) ") } }
        let found = Replay.run(vector).filter { line in
            !extra.contains {
                !vector.isWanted($0)
                    && (line.hasPrefix("end cache \($0) rank 1 ") || line.hasPrefix("end cache \($0) rank 2 "))
            }
        }
        #expect(found == vector.expected, "\(vector.name)")
    }

    @Test("all vectors are read")
    func count() { #expect(Vector.all.count == 382) }
}
