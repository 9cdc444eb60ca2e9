import Configuration
import DNSServer
import Glibc
import Logging
import Platform
import Scheduling
import Upstreams

/// The life of the server: bind, give up root, serve, drain.
final class Daemon {
    private let settings: Configuration
    private let logger: Logger

    init(_ settings: Configuration, logger: Logger) {
        self.settings = settings
        self.logger = logger
    }

    /// Serves until a signal ends it.
    ///
    /// - Throws: `SystemError` when it cannot start, `LocalDNSServersError` when no resolver of the network is known.
    func run() throws {
        let loop = try EventLoop()
        // Nobody else keeps the sockets: the server gives the ports back as soon as it stops listening.
        let server = RunningServer(
            on: try ServerSockets.bind(
                try settings.listen.addresses.map(Self.socketAddress),
                threads: settings.listen.udpThreads == 0 ? CPUBudget.threads() : settings.listen.udpThreads),
            loop: loop, logger: logger)
        if !settings.listen.user.isEmpty { try Privileges.drop(to: settings.listen.user) }
        Loop.spawn { [settings] in await server.run(settings) }
        loop.run()
        if let failure = Loop.assumeIsolated({ server.failure }) { throw failure }
    }

    private static func socketAddress(_ endpoint: Endpoint) throws -> SocketAddress {
        guard let address = SocketAddress(endpoint) else {
            throw SystemError(
                code: ENODEV, operation: "listen on \(endpoint)", advice: "no interface \(endpoint.zone ?? "") is here")
        }
        return address
    }
}
