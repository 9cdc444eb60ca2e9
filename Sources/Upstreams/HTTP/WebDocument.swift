import DNSResolver
public import DNSWire
public import HTTPDNS
public import Platform

/// A document at an https URL, fetched again from time to time.
///
/// Its host is looked up as that of a provider is: a forged address has no valid certificate.
@Loop
public final class WebDocument {
    /// The time-out at one address: a long document over a slow line.
    private nonisolated static let timeout: Duration = .seconds(20)

    private let origin: HTTPOrigin
    private let path: String
    private let paths: NetworkPaths
    private let loop: EventLoop
    /// Nil when the host is an address.
    private let lookup: HostAddresses?
    /// The one that answered last is the first.
    private var addresses: [IPAddress] = []

    /// Of a host that is a name, which `bootstrap` looks up, or an address as text; without a file of trust anchors (PEM)
    /// the system's are taken.
    public init(
        host: String, port: UInt16, path: String, caFile: String, proxy: SocketAddress?, bootstrap: HostSources,
        paths: NetworkPaths, loop: EventLoop
    ) {
        var origin = HTTPOrigin(scheme: .https, port: port, hosts: [host], caFile: caFile, proxy: proxy)
        origin.hasDocuments = true
        self.origin = origin
        self.path = path.isEmpty ? "/" : path
        self.paths = paths
        self.loop = loop
        let address = IPAddress(host)
        addresses = address.map { [$0] } ?? []
        lookup =
            address == nil
            ? (try? Name(host)).map { HostAddresses(host: $0, sources: bootstrap, clock: loop) } : nil
        lookup?.onChange = { [weak self] in self?.addresses = $0 }
    }

    /// Fetches it from the first address that answers, of any source. While it still has this entity tag, that of the
    /// document that is there already, the status is 304, without a body.
    public func fetch(unless tag: String?) async -> Result<HTTPResponse, UpstreamFailure> {
        if let lookup {
            lookup.refreshIfDue()
            await lookup.lookedUp(until: loop.now + HostAddresses.timeout)
        }
        var failure = UpstreamFailure.network("\(origin.hosts[0]): no source has an address of it")
        var tried: Set<IPAddress> = []
        repeat {
            for address in addresses where tried.insert(address).inserted {
                switch await get(tag, at: address) {
                case .success(let response):
                    addresses = [address] + addresses.filter { $0 != address }
                    return .success(response)
                case .failure(let reason): failure = reason
                }
            }
            // The sources that were not asked yet may have others.
            lookup?.addressFailed()
            await lookup?.lookedUp(until: loop.now + HostAddresses.timeout)
        } while !tried.isSuperset(of: addresses)
        return .failure(failure)
    }

    private func get(_ tag: String?, at address: IPAddress) async -> Result<HTTPResponse, UpstreamFailure> {
        let request = HTTPRequest(target: path, headers: tag.map { [["If-None-Match", $0]] } ?? [])
        let place = SocketAddress(address, port: origin.port)
        return await origin.at(place).reply(to: request, by: paths, timeout: Self.timeout, on: loop)
    }
}

extension HTTPOrigin {
    /// The reply to one request, on a connection of its own.
    @Loop
    func reply(
        to request: HTTPRequest, by paths: NetworkPaths, timeout: Duration, on loop: EventLoop
    ) async -> Result<HTTPResponse, UpstreamFailure> {
        let reached = reached(by: paths)
        if let reason = paths.unreachableReason(for: reached.nextHop) { return .failure(.network(reason)) }
        return await withCheckedContinuation { continuation in
            _ = HTTPTransfers(reached, loop: loop).begin(request, deadline: loop.now + timeout) {
                continuation.resume(returning: $0)
            }
        }
    }
}
