import DNSWire
import HTTPDNS
import Upstreams

extension Configuration.ProviderEntry {
    /// Fills in what the type has built in, and checks what depends on several keys.
    mutating func finish(_ keys: TableKeys) {
        if !keys.isWritten("type"), keys.isUsable("type") {
            let choices = ProviderType.allCases.map(\.rawValue).joined(separator: ", ")
            keys.fail("type", "is missing; write one of \(choices)")
        }
        guard keys.isWritten("type"), keys.isSound("type") else { return }
        if !keys.isWritten("hedge") { hedge = !isMetered }
        keys.complete(&secret, from: secretFile)
        checkAccount(keys)
        checkRegion(keys)
        if completeURL(keys) {
            completeStartupAddresses(keys)
            completeAddresses(keys)
            completeCertificate(keys)
            completeEncryption(keys)
        }
    }

    private func checkAccount(_ keys: TableKeys) {
        if let example = type.descriptor.accountExample, account.isEmpty {
            keys.require(
                "account", "the account's \(example.kind), such as \(quoted(example.text))", of: type)
        }
        type.descriptor.checkAccount(self, keys)
        if type != .dohJSON, !accessKeyID.isEmpty {
            keys.warn("access_key_id", "has no effect: only the type doh-json knows it")
        }
    }

    private func checkRegion(_ keys: TableKeys) {
        let regions = type.descriptor.regions
        guard keys.isSound("region"), !regions.contains(region) else { return }
        guard !regions.isEmpty else {
            if region != .cn {
                keys.warn("region", "has no effect: a provider of type \(type.rawValue) has no regions")
            }
            return
        }
        let list = regions.map { quoted($0.rawValue) }.joined(separator: ", ")
        let choice = regions.count > 1 ? "one of \(list)" : list
        keys.fail("region", "must be \(choice) for a provider of type \(type.rawValue)")
    }

    /// - Returns: whether the URL can be relied on.
    private mutating func completeURL(_ keys: TableKeys) -> Bool {
        let descriptor = type.descriptor
        if !keys.isWritten("url") {
            // Of a region that the type has not, which is reported: as if it were the usual one.
            guard let builtIn = descriptor.builtInURL(in: region) ?? descriptor.builtInURL(in: .cn) else {
                let example = "https://HOST\(descriptor.usualPath ?? "")"
                keys.fail(
                    "url", "is missing: a provider of type \(type.rawValue) needs one, such as \(quoted(example))")
                return false
            }
            url = builtIn
        }
        guard keys.isSound("url") else { return false }
        descriptor.checkURL(self, keys)
        guard let usualPath = descriptor.usualPath else {
            while url.path.hasSuffix("/") { url.path.removeLast() }
            return true
        }
        if url.path.isEmpty { keys.fail("url", "has no path; most services are at https://HOST\(usualPath)") }
        return true
    }

    /// Those that are built in are used where nothing says which addresses are to be asked.
    private mutating func completeStartupAddresses(_ keys: TableKeys) {
        guard keys.isSound("startup_addresses") else { return }
        guard type.descriptor.namesAddresses, url.scheme == .https else {
            if !startupAddresses.isEmpty {
                let reason =
                    type.descriptor.namesAddresses
                    ? "over plain http anybody on the path could name other addresses"
                    : "a provider of type \(type.rawValue) does not tell its addresses"
                keys.warn("startup_addresses", "has no effect: \(reason)")
            }
            return startupAddresses = []
        }
        if !keys.isWritten("startup_addresses"), keys.isUsable("startup_addresses"), !keys.isWritten("addresses"),
            isBuiltIn, type.descriptor.startsAtAddresses
        {
            startupAddresses = builtInAddresses
        }
        complete(\.startupAddresses, "startup_addresses", keys)
    }

    /// Whether the URL is that of the region's built-in service.
    private var isBuiltIn: Bool {
        url.host == type.descriptor.builtInURL(in: region)?.host && url.port == url.scheme.defaultPort
    }

    /// With the port of the URL.
    private var builtInAddresses: [AddressAndPort] {
        (type.descriptor.addresses[region] ?? []).map { AddressAndPort($0, port: url.port) }
    }

    /// Checks the addresses of a list, and gives those without a port the URL's.
    private mutating func complete(
        _ list: WritableKeyPath<Self, [AddressAndPort]>, _ key: String, _ keys: TableKeys
    ) {
        for (index, address) in self[keyPath: list].enumerated() where address.zone != nil {
            keys.reading.fail(
                keys[key].appending(entry: index + 1), "has a zone; link-local addresses cannot be connected to")
        }
        for index in self[keyPath: list].indices where self[keyPath: list][index].port == 0 {
            self[keyPath: list][index].port = url.port
        }
    }

    private mutating func completeAddresses(_ keys: TableKeys) {
        guard keys.isSound("addresses") else { return }
        if addresses.isEmpty {
            switch url.host {
            case _ where isBuiltIn: addresses = builtInAddresses
            case .address(let address):
                addresses = [AddressAndPort(address, port: url.port)]
            case .name where url.scheme == .http:
                keys.fail(
                    "addresses",
                    "is missing: an http URL with a host name needs the addresses to connect to (or write https)")
            // Until they have named others; without any the name is looked up.
            case .name: addresses = startupAddresses
            }
        }
        complete(\.addresses, "addresses", keys)
    }

    private mutating func completeCertificate(_ keys: TableKeys) {
        if url.scheme == .http {
            for key in ["tls_names", "ca_file", "pin"] where keys.isWritten(key) {
                keys.warn(key, "has no effect: the url is plain http")
            }
            return
        }
        keys.warnOfAuthorities(caFile)
        if tlsNames.isEmpty, keys.isSound("tls_names") { tlsNames = type.descriptor.certificateHosts(url.host) }
    }
}

extension Configuration {
    /// Names that `query --via` already gives a meaning.
    private static let reservedNames: Set<String> = ["httpdns", "localdns", "cache"]

    /// Gives providers without a name one, and reports names used twice.
    mutating func nameProviders(_ reading: Reading) {
        var owners: [String: SettingPath] = [:]
        for (index, provider) in providers.enumerated() where !provider.name.isEmpty {
            let path = SettingPath.provider(index)
            let place = path.appending(key: "name")
            if Self.reservedNames.contains(provider.name) {
                reading.fail(place, "must not be \(quoted(provider.name)), which is taken by the program itself")
            } else if let owner = owners[provider.name] {
                reading.fail(place, "\(quoted(provider.name)) is already the name of \(owner)")
            } else {
                owners[provider.name] = path
            }
        }
        for index in providers.indices where providers[index].name.isEmpty {
            let base = providers[index].type.rawValue
            var name = base
            var number = 1
            while owners[name] != nil {
                number += 1
                name = "\(base)-\(number)"
            }
            owners[name] = SettingPath.provider(index)
            providers[index].name = name
        }
    }
}

extension SettingPath {
    static let providers = SettingPath("provider")

    /// - Parameter index: counted from 0.
    static func provider(_ index: Int) -> SettingPath { providers.appending(entry: index + 1) }
}
