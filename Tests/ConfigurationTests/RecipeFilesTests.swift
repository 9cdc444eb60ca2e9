import Configuration
import DNSResolver
import DNSWire
import Foundation
import Platform
import Testing
import Upstreams

/// The files of `conf/` that operators copy, read as they are.
struct RecipeFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "conf")

    private static func text(_ file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }

    /// What a shell or Compose makes of `${NAME:-default}` and `${NAME:?reason}`.
    private static func expanded(_ value: String, _ variables: [String: String]) -> String {
        guard value.hasPrefix("${"), value.hasSuffix("}") else { return value }
        let inside = value.dropFirst(2).dropLast()
        let parts = inside.split(separator: ":", maxSplits: 1)
        let fallback = parts.dropFirst().first ?? ""
        return variables[String(parts[0])] ?? (fallback.hasPrefix("-") ? String(fallback.dropFirst()) : "")
    }

    /// The environment of the service in compose.yaml.
    private static func composeEnvironment(_ variables: [String: String]) throws -> [String: String] {
        var environment: [String: String] = [:]
        for line in try text("compose.yaml").split(separator: "\n") {
            let line = line.drop { $0 == " " }
            guard line.hasPrefix("HTTPDNSD_"), let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            environment[String(line[..<colon])] = expanded(String(value), variables)
        }
        return environment
    }

    /// The environment of the container in kubernetes/sidecar.yaml, with the values of its secret.
    private static func kubernetesEnvironment(_ secret: [String: String]) throws -> [String: String] {
        var environment: [String: String] = [:]
        var name: String?
        for line in try text("kubernetes/sidecar.yaml").split(separator: "\n") {
            let line = line.drop { $0 == " " }
            if line.hasPrefix("- name: HTTPDNSD_") {
                name = String(line.dropFirst("- name: ".count))
            } else if let key = name, line.hasPrefix("value: ") {
                environment[key] = String(line.dropFirst("value: ".count))
                name = nil
            } else if let key = name, line.hasPrefix("valueFrom: "), let range = line.firstRange(of: "key: ") {
                environment[key] = secret[String(line[range.upperBound...].prefix { $0.isLetter })]
                name = nil
            }
        }
        return environment
    }

    private func loaded(_ environment: [String: String]) throws -> LoadedConfiguration {
        try accepted(Self.text("container.toml"), environment: environment)
    }

    @Test func `the environment of compose.yaml makes a whole configuration`() throws {
        let environment = try Self.composeEnvironment(["HTTPDNS_ACCOUNT": "139450", "LOCALDNS": "192.0.2.53"])
        let loaded = try loaded(environment)
        #expect(loaded.warnings.isEmpty, "\(loaded.warnings)")
        let provider = try #require(loaded.configuration.providers.first)
        #expect(loaded.configuration.providers.count == 1 && provider.type == .aliyun)
        #expect(provider.account == "139450" && provider.names.map(\.description) == ["example.com"])
        #expect(loaded.configuration.localDNS.servers.map(\.description) == ["192.0.2.53:53"])
    }

    @Test func `the environment of the Kubernetes sidecar makes a whole configuration`() throws {
        let environment = try Self.kubernetesEnvironment(["account": "139450", "secret": ""])
        let loaded = try loaded(environment)
        #expect(loaded.warnings.isEmpty, "\(loaded.warnings)")
        let configuration = loaded.configuration
        #expect(configuration.providers.map(\.account) == ["139450"])
        #expect(configuration.providers.flatMap(\.names).map(\.description) == ["example.com"])
        #expect(configuration.forwards.map { $0.suffixes.map(\.description) } == [["cluster.local"]])
        #expect(configuration.forwards.flatMap(\.servers).map(\.description) == ["10.96.0.10:53"])
    }

    @Test func `a variable that a recipe sets is one that the container reads, and each of these is documented`() throws
    {
        let container = try Self.text("container.toml")
        let names = Set(
            try Self.composeEnvironment([:]).keys.map { $0 } + Self.kubernetesEnvironment([:]).keys.map { $0 })
        #expect(names.count >= 6)
        for name in names { #expect(container.contains("${\(name):-}"), "\(name)") }
        let page = try documentationLines("Recipes.md").joined(separator: "\n")
        for part in container.split(separator: "${").dropFirst() {
            let name = String(part.prefix { $0 != ":" }).replacing("HTTPDNSD_2_", with: "HTTPDNSD_")
            let short = name.replacing("HTTPDNSD_", with: "_")
            #expect(page.contains("`\(name)`") || page.contains("`\(short)`"), "\(name)")
        }
    }

    @Test func `each variable of the container, filled, reaches its key`() throws {
        let environment = [
            "PROVIDER": "doh-json", "URL": "https://dns.example/resolve", "ADDRESSES": "192.0.2.1,192.0.2.2",
            "ACCOUNT": "139450", "ACCESS_KEY_ID": "key", "SECRET": "secret", "TLS_NAMES": "a.example,b.example",
            "CLIENT_SUBNET": "192.0.2.0/24", "DAILY_LIMIT": "100000", "NAMES": "example.com", "2_PROVIDER": "aliyun",
            "2_REGION": "sg", "2_ACCOUNT": "139451", "2_DAILY_LIMIT": "5", "2_NAMES": "example.com",
            "LOCALDNS": "192.0.2.53", "PREFER": "ipv4", "PROXY": "http://192.0.2.8:3128", "MEMORY": "256MiB",
            "SHARED_URL": "rediss://h", "SHARED_KEY": String(repeating: "5a", count: 32), "SHARED_PREFIX": "p:",
            "SHARED_CA_FILE": "/ca.pem", "SHARED_LIMITS": "true", "MONTHLY_LIMIT": "2000000", "LOG_FORMAT": "json",
            "MONITOR": "0.0.0.0:9053", "MODE": "httpdns-first", "DNS64": "64:ff9b::/96",
        ]
        let loaded = try loaded(Dictionary(uniqueKeysWithValues: environment.map { ("HTTPDNSD_\($0)", $1) }))
        let configuration = loaded.configuration
        #expect(configuration.providers.map(\.dailyLimit) == [100_000, 5])
        #expect(configuration.providers.map(\.region) == [.cn, .sg])
        let first = try #require(configuration.providers.first)
        #expect(first.accessKeyID == "key" && first.clientSubnet != .off)
        #expect(first.tlsNames.map(\.description) == ["a.example", "b.example"])
        #expect(configuration.answers.prefer == .ipv4 && configuration.http.proxy != nil)
        #expect(configuration.limits.memory == 256 << 20 && configuration.log.format == .json)
        #expect(
            configuration.cache.shared.redis?.place == .host("h", port: 6_379, usesTLS: true))
        #expect(configuration.cache.shared.key != nil && configuration.cache.shared.prefix == "p:")
        #expect(configuration.cache.shared.caFile == "/ca.pem" && configuration.cache.shared.limits)
        #expect(configuration.providers.map(\.monthlyLimit) == [2_000_000, 0])
        #expect(configuration.control.http?.description == "0.0.0.0:9053")
        #expect(configuration.answers.dns64?.description == "64:ff9b::/96")
    }

    @Test func `any key is set by the variable of its name, in the container`() throws {
        let configuration = try loaded([
            "HTTPDNSD_PROVIDER": "aliyun", "HTTPDNSD_ACCOUNT": "139450",
            "HTTPDNSD_PROVIDER_1_NAMES": "a.example,b.example",
            "HTTPDNSD_PROVIDER_3_TYPE": "doh", "HTTPDNSD_PROVIDER_3_URL": "https://192.0.2.2/dns-query",
            "HTTPDNSD_2_PROVIDER": "doh", "HTTPDNSD_2_URL": "https://192.0.2.1/dns-query",
            "HTTPDNSD_PROVIDER_3_DAILY_LIMIT": "7", "HTTPDNSD_CACHE_DISK_PATH": "/var/lib/httpdnsd/cache.sqlite",
            "HTTPDNSD_LOCALDNS_SERVERS": "192.0.2.53,192.0.2.54", "HTTPDNSD_ACCOUNT_1_ID": "9",
            "HTTPDNSD_LIMITS_MISSES_PER_SECOND": "50", "HTTPDNSD_CACHE_STALE_MAX": "1h",
        ]).configuration
        #expect(configuration.providers.map(\.names.count) == [2, 0, 0] && configuration.providers[2].dailyLimit == 7)
        #expect(configuration.cache.disk.path == "/var/lib/httpdnsd/cache.sqlite")
        #expect(configuration.localDNS.servers.map(\.description) == ["192.0.2.53:53", "192.0.2.54:53"])
        #expect(configuration.accounts.map(\.id) == ["9"])
        let auto = try loaded([
            "HTTPDNSD_PROVIDER": "doh", "HTTPDNSD_URL": "https://192.0.2.1/dns-query",
            "HTTPDNSD_LOCALDNS_SERVERS": "auto",
        ])
        #expect(auto.configuration.localDNS.groups == nil)
    }

    @Test(arguments: [
        (
            ["HTTPDNSD_LISTEN": "127.0.0.1:53", "HTTPDNSD_LISTEN_ADDRESSES": "127.0.0.1:54"],
            "HTTPDNSD_LISTEN are for one key", 1
        ),
        (["HTTPDNSD_PROVIDER_4_TYPE": "doh"], "for an entry after a gap", 2),
        (["HTTPDNSD_CACHE_DISK_PAHT": "/a"], "did you mean HTTPDNSD_CACHE_DISK_PATH?", 1),
        (["HTTPDNSD_PROVIDER_0_TYPE": "doh"], "is set, but not read", 1),
        (["HTTPDNSD_PROVIDER_01_TYPE": "doh"], "is set, but not read", 1),
        (["HTTPDNSD_LOCAL_DNS": "1"], "did you mean HTTPDNSD_LOCALDNS?", 1),
        (["HTTPDNSD_2_PROVIDR": "1"], "did you mean HTTPDNSD_2_PROVIDER?", 1),
        (["HTTPDNSD_DAILYLIMIT": "1"], "did you mean HTTPDNSD_DAILY_LIMIT?", 1),
        (["HTTPDNSD_LIMITS_MISSES_PER_SECOND": "many"], "limits.misses_per_second", 1),
    ])
    func `a variable that no key can take is refused, with the nearest`(
        environment: [String: String], text: String, count: Int
    ) throws {
        let all = try errors(
            Self.text("container.toml"),
            environment: environment.merging(["HTTPDNSD_PROVIDER": "doh", "HTTPDNSD_URL": "https://192.0.2.1/"]) { $1 })
        // Of two for one key neither is said to be read by nothing.
        #expect(all.count == count && all.first?.contains(text) == true, "\(all)")
    }

    @Test func `a file that reads no such variable is changed by none`() throws {
        let configuration = try accepted(minimal, environment: ["HTTPDNSD_CACHE_DISK_PATH": "/a"]).configuration
        #expect(try configuration == accepted(minimal).configuration)
    }

    @Test func `a container without any variable says which is needed`() throws {
        let all = errors(try Self.text("container.toml"), environment: [:])
        #expect(
            all.count == 1 && all.first?.contains("set the environment variable HTTPDNSD_PROVIDER to its type") == true,
            "\(all)")
    }

    @Test func `in compose.yaml the namespace is httpdnsd's, and the application waits for it`() throws {
        let services = try Self.text("compose.yaml").components(separatedBy: "\n  app:\n")
        try #require(services.count == 2)
        #expect(services[0].contains("\n  httpdnsd:\n") && services[0].contains("    dns: [\"127.0.0.1\"]\n"))
        #expect(services[0].contains("start_interval: 1s") && !services[0].contains("network_mode"))
        #expect(services[1].contains("network_mode: service:httpdnsd\n"))
        #expect(services[1].contains("condition: service_healthy\n"))
        // Docker refuses both beside another container's namespace.
        #expect(!services[1].contains("dns:") && !services[1].contains("ports:"))
    }

    /// No IPv6 address of DNSPod's DoH service is published: it is reached by IPv4, or through a network's NAT64.
    private static let withoutIPv6: Set<String> = ["dnspod"]

    @Test func `each service of the file that comes with the program has an address for networks of IPv6 alone`() throws
    {
        let path = Self.folder.appending(path: "httpdnsd.toml").path
        for provider in try Configuration.load(path: path, Variables(process: [:])).configuration.providers {
            let hasIPv6 = provider.addresses.contains { $0.address.recordType == .aaaa }
            #expect(hasIPv6 != Self.withoutIPv6.contains(provider.name), "\(provider.name)")
        }
    }

    @Test func `the list of network names in that file, taken into use, leaves NAT64 working`() throws {
        let text = try Self.text("httpdnsd.toml").replacing("# network_names =", with: "network_names =")
        let names = try #require(try accepted(text).configuration.route.networkNames)
        #expect(Array(names).map(\.description) == ["lan", "168.192.in-addr.arpa"])
    }
}
