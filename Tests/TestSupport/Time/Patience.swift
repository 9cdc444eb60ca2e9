extension Duration {
    /// How long tests wait for something that must happen: so long that only a hang reaches it, on any machine. Waits end
    /// early when it happens.
    package static let patience = Duration.seconds(60)
}
