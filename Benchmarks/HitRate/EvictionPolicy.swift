/// A cache as the simulation sees it: numbered names, looked up and, when missing, stored.
protocol EvictionPolicy {
    /// Looks `name` up, and stores it if it was missing.
    ///
    /// - Returns: whether it was there.
    mutating func request(_ name: Int) -> Bool
}
