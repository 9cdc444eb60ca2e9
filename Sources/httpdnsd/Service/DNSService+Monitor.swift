import Admin
import Configuration
import DNSResolver
import DNSServer
import DNSWire
import Platform
import Scheduling

/// What monitors read.
extension DNSService: MonitorTarget {
    var traffic: TrafficReport {
        var report = TrafficReport()
        let resources = ProcessResources()
        report.process.started = startedTime
        report.process.processorTime = resources.processorTime / .seconds(1)
        report.process.residentBytes = resources.residentBytes
        report.process.descriptors = resources.descriptors
        report.process.descriptorLimit = resources.descriptorLimit
        report.responses = server.responses.map { count in
            .init(
                transport: count.transport == .udp ? "udp" : "tcp", family: count.isIPv6 ? "ipv6" : "ipv4",
                code: count.code.description, count: count.count)
        }
        return report
    }

    var unreadiness: String? {
        if isStopping { return "stopping" }
        let status = status
        let providers = resolver.isOn && composition.settings.route.mode != .localDNSOnly ? status.providers : []
        let servers = status.localDNS + status.forwards.flatMap(\.servers)
        let canAnswer =
            providers.contains { $0.state == .used && $0.addresses.contains { $0.state != .inBackoff } }
            || servers.contains { $0.state != .inBackoff && $0.state != .loop }
        return canAnswer ? nil : "no provider and no server of LocalDNS can be asked"
    }
}
