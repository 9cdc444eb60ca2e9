import Configuration
import DNSCache
import DNSResolver
import DNSWire
import Logging
import Logs
import Platform
import Upstreams

// The prefix by which IPv4 addresses are reached where there is IPv6 alone (NAT64).

extension DNSService {
    /// In force.
    var translation: Translation {
        Translation(composition.settings.answers.dns64, found: prefixDiscovery?.translation ?? .none)
    }

    /// Looks for the network's prefix from the start, where it is wanted: while this machine has a way to IPv4 of its own, no
    /// other one is needed, and an attacker in place of LocalDNS must not offer one.
    func discoverPrefix() {
        let isWanted =
            composition.settings.answers.dns64 == .auto && !composition.providers.isEmpty && paths.isIPv6Only
        prefixDiscovery?.begin(isWanted: isWanted)
    }

    /// Answers by the prefix that was found, or without one, from now on.
    func takeTranslation() {
        reachServices()
        take(composition.policy(translation))
        tellDiskOfPolicy()
        // While it is looked for again nothing is known.
        guard composition.settings.answers.dns64 == .auto, translation != .awaited, foundPrefix != translation.prefix
        else { return }
        foundPrefix = translation.prefix
        let text = foundPrefix.map {
            "this network has IPv6 alone and translates IPv4 addresses by \($0): names without IPv6 addresses get such"
        }
        log.logger.log(
            .networkNAT64, text ?? "this network does not translate IPv4 addresses any more, or has IPv4 of its own",
            ["prefix": "\(foundPrefix?.description ?? "")"])
    }

    /// Has services that have IPv4 addresses alone asked by the prefix in force, or not by one any more.
    func reachServices() {
        guard paths.translator != translation.prefix else { return }
        paths.translator = translation.prefix
        for provider in composition.providers { provider.upstream.networkChanged() }
    }
}

extension Translation {
    /// Nil while there is none.
    var prefix: NAT64Prefix? { if case .prefix(let prefix) = self { prefix } else { nil } }

    /// - Parameter found: what is known of the network.
    init(_ setting: DNS64, found: Translation) {
        self =
            switch setting {
            case .off: .none
            case .auto: found
            case .prefix(let prefix): .prefix(prefix)
            }
    }
}
