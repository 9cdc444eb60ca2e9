import Configuration
import DNSWire
import HTTPDNS
import Platform
import Upstreams

// What the configuration says, in the terms of the parts.

extension LocalDNSServer {
    init(_ endpoint: Endpoint) {
        self.init(endpoint.address, port: endpoint.port, interface: endpoint.zone)
    }
}

extension SocketAddress {
    /// Nil when the zone names no interface of this machine.
    init?(_ endpoint: Endpoint) { self.init(endpoint.description) }
}

extension HTTPDNSSettings {
    /// Nil for a type that is not built.
    init?(_ entry: Configuration.ProviderEntry, proxy: String) {
        let isHTTPS = entry.url.scheme == .https
        let service: any Service
        switch entry.type {
        case .aliyun:
            service = AliyunService(
                account: entry.account, secret: entry.secret,
                crypto: OpenSSLCrypto())
        case .doh:
            service = DoHService(path: entry.url.path.isEmpty ? "/" : entry.url.path, padsQueries: isHTTPS)
        case .aliyunV2, .tencent, .tencentHTTPS, .dohJSON:
            return nil
        }
        self.init(
            name: entry.name, service: service, scheme: isHTTPS ? .https : .http, host: entry.url.host.description,
            port: entry.url.port, basePath: entry.type == .doh ? "" : entry.url.path,
            addresses: entry.addresses.map { SocketAddress($0.address, port: $0.port) },
            tlsNames: entry.tlsNames.map(\.description),
            caFile: entry.caFile, names: entry.names, timeout: entry.timeout, proxy: proxy)
    }
}
