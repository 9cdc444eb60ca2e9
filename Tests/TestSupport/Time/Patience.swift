extension Duration {
    /// How long tests wait for something that must happen: long enough for a slow or busy machine. Waits end early when
    /// it happens.
    package static let patience = Duration.seconds(30)

    /// The same where all unit tests run at once, and one that awaits something goes on only after hundreds of others.
    package static let longPatience = patience * 4
}
