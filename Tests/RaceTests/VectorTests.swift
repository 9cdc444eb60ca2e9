import Testing

/// `Race` against a second reading of the strategy, by another hand.
struct VectorTests {
    @Test("each vector is asked, checked, given and cached as in the model", arguments: Vector.all.indices)
    func vector(number: Int) {
        let vector = Vector.all[number]
        #expect(Replay.run(vector) == vector.expected, "\(vector.name)")
    }

    @Test("all vectors are read")
    func count() { #expect(Vector.all.count == 382) }
}
