import Configuration
import DNSWire
import Glibc
import HTTPDNS
import Logging
import Logs
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
    init?(_ entry: Configuration.ProviderEntry) {
        let isHTTPS = entry.url.scheme == .https
        let service: any Service
        switch entry.type {
        case .aliyun:
            service = AliyunService(
                account: entry.account, secret: entry.secret,
                crypto: OpenSSLCrypto())
        case .doh:
            service = DoHService(path: entry.url.path.isEmpty ? "/" : entry.url.path, padsQueries: isHTTPS)
        case .dohJSON:
            let account = entry.secret.map {
                AliDNSAccount(
                    id: entry.account, accessKeyID: entry.accessKeyID, secret: $0, crypto: OpenSSLCrypto())
            }
            service = DoHJSONService(path: entry.url.path, account: account)
        case .aliyunV2, .tencent, .tencentHTTPS:
            return nil
        }
        self.init(
            name: entry.name, service: service, scheme: isHTTPS ? .https : .http, host: entry.url.host.description,
            port: entry.url.port, basePath: entry.type.urlIsWhole ? "" : entry.url.path,
            addresses: entry.addresses.map { SocketAddress($0.address, port: $0.port) },
            tlsNames: entry.tlsNames.map(\.description),
            caFile: entry.caFile, pins: entry.pins.map(\.description), names: entry.names, dailyLimit: entry.dailyLimit,
            timeout: entry.timeout)
    }
}

extension Configuration {
    /// Servers that are ourselves, which would be asked in circles; `serve --listen` may have made them so.
    var ownServers: [Endpoint] {
        var servers = forwards.flatMap(\.servers)
        if case .list(let list) = localDNS.servers { servers += list }
        return servers.filter { server in listen.addresses.contains { $0.receives(server) } }
    }

    /// What is wrong with a configuration that was read, in the view of this machine: one line each.
    func problems(in file: String) -> [String] {
        var problems: [String] = []
        do throws(LocalDNSServersError) {
            _ = try Composition.localDNSServers(self)
        } catch {
            problems.append("\(file): localdns.servers: \(error)")
        }
        problems += unreadableAuthorities.map { provider, file in
            "\(file): cannot be read, and certificates of provider \(provider) are checked with it: install ca-certificates or set its ca_file"
        }
        problems += ownServers.map { server in
            "\(server) is this server itself: asked there, a question would come back; remove it from the servers"
        }
        return problems
    }

    /// Providers over https whose authorities cannot be read, each with the file: every request to them would fail.
    var unreadableAuthorities: [(provider: String, file: String)] {
        providers.filter { $0.url.scheme == .https }
            .map { ($0.name, $0.caFile.isEmpty ? HTTPOrigin.defaultCAFile : $0.caFile) }
            .filter { access($0.1, R_OK) != 0 }
    }

    /// What is said when addresses of LocalDNS are to be checked and cannot be; nil when all is well.
    var unprovableLocalDNS: String? {
        guard localDNS.certificateCheck != .off, route.mode == .httpdnsFirst || route.mode == .localDNSFirst,
            access(HTTPOrigin.defaultCAFile, R_OK) != 0
        else { return nil }
        return
            "localdns: cannot read \(HTTPOrigin.defaultCAFile), so no address from LocalDNS can be proven: install ca-certificates or set certificate_check = \"off\""
    }
}

extension Configuration.LogSettings {
    var style: LogStyle {
        switch format {
        case .text: .text
        case .json: .json
        }
    }

    var threshold: Logger.Level { Logger.Level(rawValue: level.rawValue) ?? .info }
}
