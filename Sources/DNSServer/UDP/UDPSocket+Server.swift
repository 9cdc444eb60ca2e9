import Platform

extension UDPSocket.Options {
    /// Blocking sockets: each thread only waits for its own.
    static var server: Self {
        var options = Self()
        options.isBlocking = true
        return options
    }
}
