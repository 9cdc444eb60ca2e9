import HTTPDNS

extension Configuration.ProviderEntry {
    /// Fills in what the type has built in, and checks what depends on several keys.
    mutating func completeProvider(at path: SettingPath, _ reading: Reading) {
        let typePath = path.appending(key: "type")
        if !reading.written.contains(typePath), !reading.isMisspelt(typePath) {
            let choices = ProviderType.allCases.map(\.rawValue).joined(separator: ", ")
            reading.fail(typePath, "is missing; write one of \(choices)")
        }
        guard reading.written.contains(typePath), reading.isSound(typePath) else { return }
        if !reading.written.contains(path.appending(key: "hedge")) { hedge = !isMetered }
        reading.complete(&secret, from: secretFile, in: path)
        checkAccount(at: path, reading)
        checkRegion(at: path, reading)
        if completeURL(at: path, reading) {
            completeStartupAddresses(at: path, reading)
            completeAddresses(at: path, reading)
            completeCertificate(at: path, reading)
            completeEncryption(at: path, reading)
        }
    }

    private func checkAccount(at path: SettingPath, _ reading: Reading) {
        let keys = ProviderKeys(type: type, path: path, reading: reading)
        if let example = type.descriptor.accountExample, account.isEmpty {
            keys.require("account", "the account's \(example.kind), such as \(quoted(example.text))")
        }
        type.descriptor.checkAccount(self, keys)
        if type != .dohJSON, !accessKeyID.isEmpty {
            keys.warn("access_key_id", "has no effect: only the type doh-json knows it")
        }
    }

    private func checkRegion(at path: SettingPath, _ reading: Reading) {
        let place = path.appending(key: "region")
        let regions = type.descriptor.regions
        guard reading.isSound(place), !regions.contains(region) else { return }
        guard !regions.isEmpty else {
            if region != .cn {
                reading.warn(place, "has no effect: a provider of type \(type.rawValue) has no regions")
            }
            return
        }
        let list = regions.map { quoted($0.rawValue) }.joined(separator: ", ")
        let choice = regions.count > 1 ? "one of \(list)" : list
        reading.fail(place, "must be \(choice) for a provider of type \(type.rawValue)")
    }

    /// - Returns: whether the URL can be relied on.
    private mutating func completeURL(at path: SettingPath, _ reading: Reading) -> Bool {
        let place = path.appending(key: "url")
        let descriptor = type.descriptor
        if !reading.written.contains(place) {
            // Of a region that the type has not, which is reported: as if it were the usual one.
            guard let builtIn = descriptor.builtInURL(in: region) ?? descriptor.builtInURL(in: .cn) else {
                let example = "https://HOST\(descriptor.usualPath ?? "")"
                reading.fail(
                    place, "is missing: a provider of type \(type.rawValue) needs one, such as \(quoted(example))")
                return false
            }
            url = builtIn
        }
        guard reading.isSound(place) else { return false }
        descriptor.checkURL(self, ProviderKeys(type: type, path: path, reading: reading))
        guard let usualPath = descriptor.usualPath else {
            while url.path.hasSuffix("/") { url.path.removeLast() }
            return true
        }
        if url.path.isEmpty {
            reading.fail(place, "has no path; most services are at https://HOST\(usualPath)")
        }
        return true
    }

    /// Those that are built in are used where nothing says which addresses are to be asked.
    private mutating func completeStartupAddresses(at path: SettingPath, _ reading: Reading) {
        let place = path.appending(key: "startup_addresses")
        guard reading.isSound(place) else { return }
        guard type.descriptor.namesAddresses, url.scheme == .https else {
            if !startupAddresses.isEmpty {
                let reason =
                    type.descriptor.namesAddresses
                    ? "over plain http anybody on the path could name other addresses"
                    : "a provider of type \(type.rawValue) does not tell its addresses"
                reading.warn(place, "has no effect: \(reason)")
            }
            return startupAddresses = []
        }
        if !reading.written.contains(place), !reading.isMisspelt(place),
            !reading.written.contains(path.appending(key: "addresses")), isBuiltIn
        {
            startupAddresses = type.descriptor.startupAddresses(region).map { AddressAndPort($0, port: url.port) }
        }
        complete(\.startupAddresses, at: place, reading)
    }

    /// Whether the URL is that of the region's built-in service.
    private var isBuiltIn: Bool {
        url.host == type.descriptor.builtInURL(in: region)?.host && url.port == url.scheme.defaultPort
    }

    /// Checks the addresses of a list, and gives those without a port the URL's.
    private mutating func complete(
        _ list: WritableKeyPath<Self, [AddressAndPort]>, at place: SettingPath, _ reading: Reading
    ) {
        for (index, address) in self[keyPath: list].enumerated() where address.zone != nil {
            reading.fail(place.appending(entry: index + 1), "has a zone; link-local addresses cannot be connected to")
        }
        for index in self[keyPath: list].indices where self[keyPath: list][index].port == 0 {
            self[keyPath: list][index].port = url.port
        }
    }

    private mutating func completeAddresses(at path: SettingPath, _ reading: Reading) {
        let place = path.appending(key: "addresses")
        guard reading.isSound(place) else { return }
        if addresses.isEmpty {
            switch url.host {
            case _ where isBuiltIn:
                addresses = type.descriptor.addresses(region).map { AddressAndPort($0, port: url.port) }
            case .address(let address):
                addresses = [AddressAndPort(address, port: url.port)]
            case .name where url.scheme == .http:
                reading.fail(
                    place, "is missing: an http URL with a host name needs the addresses to connect to (or write https)"
                )
            // Until they have named others; without any the name is looked up.
            case .name: addresses = startupAddresses
            }
        }
        complete(\.addresses, at: place, reading)
    }

    private mutating func completeCertificate(at path: SettingPath, _ reading: Reading) {
        if url.scheme == .http {
            for key in ["tls_names", "ca_file", "pin"] where reading.written.contains(path.appending(key: key)) {
                reading.warn(path.appending(key: key), "has no effect: the url is plain http")
            }
        } else if tlsNames.isEmpty, reading.isSound(path.appending(key: "tls_names")) {
            tlsNames = type.descriptor.certificateHosts(url.host)
        }
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
    static let providers = SettingPath.root.appending(key: "provider")

    /// - Parameter index: counted from 0.
    static func provider(_ index: Int) -> SettingPath { providers.appending(entry: index + 1) }
}
