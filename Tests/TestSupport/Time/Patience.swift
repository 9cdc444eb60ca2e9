extension Duration {
    /// How long tests wait for something that must happen: long enough for a slow or busy machine. Waits end early when
    /// it happens.
    package static let patience = Duration.seconds(30)
}
