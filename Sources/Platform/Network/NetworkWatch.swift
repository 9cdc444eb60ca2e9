import CLinux
import Glibc
package import Scheduling

/// Reports when the host's network has changed: an address or a route was added or removed, a link went up or down.
///
/// Costs nothing while the network does not change.
@Loop
package final class NetworkWatch {
    /// Size in bytes of the largest datagram from the kernel (NLMSG_GOODSIZE of a large page).
    private static let bufferSize = 32 << 10
    /// Datagrams that are read in one go, so that a storm of them does not block the loop's other work.
    private static let batch = 64

    private let descriptor: Descriptor
    private let handler: @Loop () -> Void
    private let paths: NetworkPaths?
    private var watch: Watch?
    private var stock: NetworkStock
    private var buffer: [UInt8]

    /// - Parameters:
    ///   - paths: receives the links without a carrier, before `handler` is called.
    ///   - handler: called for each change; several may follow one another within milliseconds.
    /// - Throws: where the process may not have such a socket.
    package init(
        on loop: EventLoop, paths: NetworkPaths? = nil, _ handler: @escaping @Loop () -> Void
    ) throws(SystemError) {
        self.handler = handler
        self.paths = paths
        let number = try checked(clinux_route_socket(), "watch the network (netlink)")
        descriptor = Descriptor(owning: number)
        stock = NetworkStock { clinux_route_dump(number, $0) >= 0 }
        buffer = [UInt8](repeating: 0, count: Self.bufferSize)
        watch = try loop.watch(number, for: .readable) { [weak self] _ in self?.receive() }
        stock.take()
    }

    /// Stops watching; `handler` is not called any more. The server watches as long as it runs: for tests, which share
    /// a loop.
    package func cancel() {
        watch?.cancel()
        watch = nil
        // Without further reports, the state of links is unknown.
        paths?.update(deadLinks: [])
    }

    private func receive() {
        var isChanged = false
        for _ in 0..<Self.batch {
            let length = unsafe buffer.withUnsafeMutableBytes {
                unsafe clinux_route_receive(descriptor.number, $0.baseAddress, $0.count)
            }
            if length == -ENOBUFS {
                // Some messages were lost: anything may have changed.
                isChanged = true
                stock.take()
                continue
            }
            guard length >= 0 else { break }
            if stock.take(Array(buffer.prefix(Int(length)))) { isChanged = true }
        }
        paths?.update(deadLinks: stock.state.deadLinks)
        if isChanged { handler() }
    }
}
