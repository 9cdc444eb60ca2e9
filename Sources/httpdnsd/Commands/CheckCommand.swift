import ArgumentParser
import Configuration
import DNSResolver
import DNSWire
import Platform

/// `httpdnsd check`: reads the configuration and says what it would do.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks the configuration and shows what it means.")

    @OptionGroup var file: ConfigurationFile

    func run() throws {
        let loaded = try file.load()
        for warning in loaded.warnings { printError("warning: \(warning)") }
        let settings = loaded.configuration
        for remark in settings.remarks { printError("warning: \(remark)") }
        let problems = settings.problems(in: file.path)
        for problem in problems { printError(problem) }
        guard problems.isEmpty, let resolvers = try? Composition.localDNSServers(settings) else {
            throw ExitStatus.configuration.exitCode
        }
        print("listen    \(settings.listen.addresses.map(Self.text).joined(separator: ", "))")
        print("allow     \(Self.list(settings.listen.allow))")
        for provider in settings.providers {
            let mark = provider.isAuthenticated ? "" : "  (not authenticated: can be forged or replayed on the path)"
            let names = provider.names.isEmpty ? "" : ", for \(Self.brief(provider.names))"
            print("provider  \(provider.name): \(provider.type.rawValue) at \(provider.url)\(names)\(mark)")
        }
        print("mode      \(settings.route.mode.rawValue)")
        for (list, names) in [("protect", settings.route.protect), ("bypass ", settings.route.bypass)]
        where !names.isEmpty {
            print("\(list)   \(Self.brief(names))")
        }
        for forward in settings.forwards {
            print("forward   \(Self.list(forward.suffixes)) to \(Self.list(forward.servers))")
        }
        print("localdns  \(resolvers.map(Self.list).joined(separator: ", then "))")
        let searched = Composition.searchDomains(settings)
        if !searched.isEmpty {
            print("search    \(Self.list(searched)): names below that the providers deny are asked of localdns")
        }
        let disk = settings.cache.disk.path
        print("cache     \(settings.cache.memory >> 20) MiB of memory, \(disk.isEmpty ? "no file" : "and \(disk)")")
        for line in settings.answerLines { print(line) }
        for line in settings.exampleLines { print(line) }
        print("\(file.path) is good")
    }

    /// The most names of a list that are printed.
    private static let listLimit = 10

    private static func brief(_ names: some Collection<Name>) -> String {
        let more = names.count - listLimit
        return list(names.prefix(listLimit)) + (more > 0 ? " and \(more) more" : "")
    }

    private static func text(_ endpoint: AddressAndPort) -> String {
        let isHere = SocketAddress(endpoint)?.isOnThisMachine ?? false
        return "\(endpoint)\(isHere ? "" : " (not on this machine yet)")"
    }

    private static func list(_ items: some Sequence<some CustomStringConvertible>) -> String {
        items.map(\.description).joined(separator: ", ")
    }
}

extension Configuration {
    /// The most example names that are printed.
    private static let exampleLimit = 8

    /// What answers some names: the first of each list, and one of no list.
    fileprivate var exampleLines: [String] {
        let listed = providers.compactMap(\.names.first) + [route.protect, route.bypass].compactMap(\.first)
        let forwarded = forwards.compactMap(\.suffixes.first)
        var names: [Name] = []
        for name in listed + forwarded + [try? Name("www.example.net")].compactMap({ $0 })
        where !names.contains(name) && names.count < Self.exampleLimit {
            names.append(name)
        }
        let routes = Composition.routes(self, Translation(answers.dns64, found: .none))
        return names.map { "example   \($0): \(sources(of: $0, by: routes.route(for: $0)))" }
    }

    /// The sources of a name, in the order in which they are asked.
    private func sources(of name: Name, by route: DNSResolver.Route) -> String {
        switch route {
        case .bypass: return "localdns"
        case .forward(let index): return forwards[index].servers.map(\.description).joined(separator: ", ")
        case .portal, .protect:
            let able = providers.filter { $0.names.isEmpty || $0.names.contains { name.isWithin($0) } }.map(\.name)
            return switch route == .portal ? .localDNSFirst : self.route.mode {
            case .localDNSFirst: (["localdns"] + able).joined(separator: ", then ")
            case .httpdnsOnly: able.joined(separator: ", then ")
            case .httpdnsFirst, .localDNSOnly: (able + ["localdns"]).joined(separator: ", then ")
            }
        }
    }

    /// What is answered otherwise than the sources would.
    fileprivate var answerLines: [String] {
        var lines: [String] = []
        var parts: [String] = []
        if !preset.always.isEmpty { parts.append("\(preset.always.count) always") }
        if !preset.hosts.isEmpty { parts.append("\(preset.hosts.count) of \(preset.hostsFile)") }
        if !preset.lastResort.isEmpty { parts.append("\(preset.lastResort.count) in the last resort") }
        if !preset.preresolve.isEmpty { parts.append("\(preset.preresolve.count) looked up at the start") }
        if !parts.isEmpty { lines.append("preset    names: \(parts.joined(separator: ", "))") }
        if answers.prefer != .both { lines.append("prefer    \(answers.prefer.rawValue)") }
        return lines
    }
}
