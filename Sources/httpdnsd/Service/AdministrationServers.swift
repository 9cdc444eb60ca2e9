import Admin
import Configuration
import DNSServer
import DNSWire
import Glibc
import Platform
import Scheduling

/// Where the server takes commands and answers monitors. Without either DNS is served all the same.
@Loop
final class AdministrationServers {
    /// How often a port for monitors is tried that another process holds: it may give it back.
    private static let pause: Duration = .seconds(1)

    let target: Administration
    private let log: LogOutput
    private var control: HTTPServer?
    private var monitor: HTTPServer?
    /// The listening socket for commands, while it is served.
    private(set) var controlNumber: Int32?

    init(_ target: Administration, log: LogOutput) {
        self.target = target
        self.log = log
    }

    /// Takes commands from now on.
    func startControl(on sockets: ControlSockets?) {
        guard let sockets, let descriptor = sockets.commands.takeDescriptor() else { return }
        let number = descriptor.number
        do throws(SystemError) {
            control = try serve("control", on: ListeningSocket(local: descriptor), ControlAPI(target: target))
            controlNumber = number
        } catch {
            log.logger.log(.startControlSocket, "\(error); serving without a control socket")
            sockets.removeFiles()
        }
    }

    /// Answers monitors from now on.
    func startMonitor(at endpoint: AddressAndPort, isFirstTry: Bool = true) {
        guard !target.isStopping else { return }
        do throws(SystemError) {
            guard let address = SocketAddress(endpoint) else {
                throw SystemError(code: ENODEV, operation: "listen on \(endpoint)")
            }
            let monitors = MonitorAPI(
                target: target, looksUp: endpoint.address.isLoopback, clock: target.service.loop)
            monitor = try serve("control.http", on: ListeningSocket(address), monitors)
        } catch {
            if isFirstTry { log.logger.log(.startMonitor, "control.http: \(error); serving without metrics") }
            // The port is another server's, or the interface is not there yet.
            guard [EADDRINUSE, ENODEV].contains(error.code) else { return }
            _ = target.service.loop.schedule(after: Self.pause) { [weak self] in
                self?.startMonitor(at: endpoint, isFirstTry: false)
            }
        }
    }

    private func serve(
        _ name: String, on socket: ListeningSocket, _ service: any HTTPService
    ) throws(SystemError) -> HTTPServer {
        try HTTPServer(
            name, on: socket, service: service, loop: target.service.loop, events: target.service.events)
    }

    /// Takes no more commands. Harmless the second time.
    func stopControl() {
        control?.stop()
        control = nil
        controlNumber = nil
    }

    /// Answers neither commands nor monitors any more. Harmless the second time.
    func stop() {
        stopControl()
        monitor?.stop()
        monitor = nil
    }
}
