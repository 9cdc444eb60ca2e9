import CLinux
import Glibc
package import Scheduling

/// Tells when the host's network has become another one: an address or a route has come or gone, a link is up or down.
///
/// Nothing happens while the network rests.
@Loop
package final class NetworkWatch {
    /// What the kernel puts into one datagram at most (NLMSG_GOODSIZE of a large page).
    private static let bufferSize = 32 << 10
    /// Datagrams that are read in one go, so that a storm of them does not keep the loop from its other work.
    private static let batch = 64
    /// RTM_GETLINK and RTM_GETADDR.
    private static let kinds: [UInt16] = [18, 22]

    private let descriptor: Descriptor
    private let handler: @Loop () -> Void
    private let paths: NetworkPaths?
    private var watch: Watch?
    private var state = NetworkState()
    private var buffer: [UInt8]
    /// What is still to be asked for, and nothing is known of.
    private var wanted: [UInt16] = []

    /// - Parameters:
    ///   - paths: is told which links have no carrier, before `handler` is called.
    ///   - handler: called for each change; several may follow one another within milliseconds.
    /// - Throws: where the process may not have such a socket.
    package init(
        on loop: EventLoop, paths: NetworkPaths? = nil, _ handler: @escaping @Loop () -> Void
    ) throws(SystemError) {
        self.handler = handler
        self.paths = paths
        descriptor = Descriptor(owning: try checked(clinux_route_socket(), "watch the network (netlink)"))
        buffer = [UInt8](repeating: 0, count: Self.bufferSize)
        watch = try loop.watch(descriptor.number, for: .readable) { [weak self] _ in self?.receive() }
        takeStock()
    }

    /// Ends it; nothing is told any more. The server watches as long as it lives: for tests, which share a loop.
    package func cancel() {
        watch?.cancel()
        watch = nil
        // What is not heard of any more is not believed any more.
        paths?.update(deadLinks: [])
    }

    /// Asks for everything that is there.
    private func takeStock() {
        state = NetworkState()
        wanted = Self.kinds
        askNext()
    }

    private func askNext() {
        guard !wanted.isEmpty else { return }
        // Without the answer each address counts as new when it is told again: a needless change, no missed one.
        _ = clinux_route_dump(descriptor.number, wanted.removeFirst())
    }

    private func receive() {
        var isChanged = false
        for _ in 0..<Self.batch {
            let length = buffer.withUnsafeMutableBytes {
                clinux_route_receive(descriptor.number, $0.baseAddress, $0.count)
            }
            if length == -ENOBUFS {
                // Some were lost: anything may have changed.
                isChanged = true
                takeStock()
                continue
            }
            guard length >= 0 else { break }
            if take(Array(buffer.prefix(Int(length)))) { isChanged = true }
        }
        paths?.update(deadLinks: state.deadLinks)
        if isChanged { handler() }
    }

    private func take(_ datagram: [UInt8]) -> Bool {
        var isChanged = false
        var messages = RouteMessages(datagram)
        while let (message, isDump) = messages.next() {
            if state.take(message, isDump: isDump) { isChanged = true }
            if message == .dumpEnded { askNext() }
        }
        // A refused request has no end of its own.
        if messages.isBroken { askNext() }
        return isChanged
    }
}
