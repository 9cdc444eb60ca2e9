/// A cache in the simulation: numbered names are looked up and, when missing, stored.
protocol EvictionPolicy {
    /// Looks `name` up, and stores it if it is missing.
    ///
    /// - Returns: whether it was in the cache.
    mutating func request(_ name: Int) -> Bool
}
