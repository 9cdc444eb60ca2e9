/// Random numbers that are the same for the same seed.
struct Numbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = 0x9e37_79b9_7f4a_7c15 &+ seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }

    /// A number up to `limit`.
    mutating func number(_ limit: Int) -> Int { Int.random(in: 0...limit, using: &self) }

    /// The same input with one to four changes: a bit or a byte is another one, bytes are cut out or come from the same or
    /// another input.
    mutating func mutated(_ input: [UInt8], with other: [UInt8]) -> [UInt8] {
        var bytes = input
        for _ in 0...number(3) {
            let place = number(bytes.count)
            switch number(4) {
            case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(number(7))
            case 1 where place < bytes.count: bytes[place] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][number(5)]
            case 2: bytes.removeSubrange(place..<min(place + number(16), bytes.count))
            case 3: bytes.insert(contentsOf: bytes[place...].prefix(number(64)), at: number(bytes.count))
            default: bytes.replaceSubrange(place..., with: other.dropFirst(number(other.count)))
            }
        }
        return bytes
    }
}
