extension [UInt8] {
    /// Frees storage that the elements do not need: of what a client sends or is sent, the bytes that wait are counted, and
    /// hardly more may be held.
    mutating func giveBackUnused() {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        bytes.append(contentsOf: self)
        self = bytes
    }
}
