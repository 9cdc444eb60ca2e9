extension Duration {
    /// How long tests wait for what must happen: a slow or busy machine may take its time, and a quiet one ends the wait early.
    package static let patience = Duration.seconds(30)
}
