import ArgumentParser
import Configuration
import DNSResolver
import DNSServer
import DNSWire
import Glibc
import HTTPDNS
import Platform

/// `httpdnsd healthcheck`: whether the server answers at all.
struct HealthcheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Checks that the server answers on its DNS port; needs no control socket.",
        discussion: """
            Asks for the server's version over UDP, at the first listen address of the configuration. Whether providers or \
            LocalDNS can be reached does not matter, nor whether listen.allow has the asking address. Exit status 0 as soon \
            as the server answers, else 1 within two seconds, also where another DNS server answers.
            """)

    @OptionGroup var file: ConfigurationFile

    @Option(
        help: .init(
            "The server's address and port, instead of the first one in the configuration.", valueName: "address"))
    var server: String?

    func validate() throws {
        if let server, AddressAndPort(server) == nil {
            throw ValidationError("--server \(server): not an address with a port, such as 127.0.0.1:53 or [::1]:53")
        }
    }

    func run() throws {
        let endpoint = try endpoint()
        guard endpoint.port != 0, let address = SocketAddress(endpoint.reachable) else {
            throw CommandFailure("\(endpoint): cannot be asked; name the server with --server")
        }
        switch try LivenessProbe.outcome(of: address) {
        case .serves, .refuses: return
        case .foreign: throw CommandFailure("\(address): another DNS server answers there")
        case .silent: throw CommandFailure("\(address): no answer")
        }
    }

    private func endpoint() throws -> AddressAndPort {
        if let server, let endpoint = AddressAndPort(server) { return endpoint }
        return try file.tables(["listen"]).listen.addresses[0]
    }
}

extension AddressAndPort {
    /// Where a server that is bound here can be asked: loopback for a wildcard.
    var reachable: AddressAndPort {
        switch address {
        case .v4(0): AddressAndPort(.v4(0x7f00_0001), port: port)
        case .v6(0): AddressAndPort(.v6(1), port: port)
        default: self
        }
    }
}

/// What a DNS server says that is asked for its version over UDP, up to three times.
enum LivenessProbe: Equatable {
    /// It is httpdnsd, and answers what this machine asks, if it is not overloaded.
    case serves
    /// A server refuses all that this machine asks from this address, as httpdnsd does where it is not in `listen.allow`.
    case refuses(IPAddress)
    /// A DNS server answers, and it is another one.
    case foreign
    /// No reply came.
    case silent

    /// When a try is given up, in milliseconds from its start: 1.7 s in all.
    private static let waits: [Int32] = [300, 500, 900]

    /// What answers at an address. Blocks.
    static func outcome(of address: SocketAddress) throws(SystemError) -> LivenessProbe {
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        let number = socket(family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw .last("make a socket") }
        let descriptor = Descriptor(owning: number)
        guard unsafe address.withSockaddr({ unsafe connect(descriptor.number, $0, $1) }) == 0 else {
            throw .last("ask \(address)")
        }
        for wait in waits {
            let id = UInt16.random(in: .min ... .max)
            let question = query(id)
            _ = unsafe send(descriptor.number, question, question.count, 0)
            guard let reply = receive(descriptor.number, replyTo: id, within: wait) else { continue }
            if isOurs(reply) || isOverload(reply) { return .serves }
            guard isRefusal(reply), let own = boundAddress(of: descriptor.number) else { return .foreign }
            return .refuses(own.ip)
        }
        return .silent
    }

    /// `version.bind. CH TXT`
    private static let question = Question(
        name: (try? Name("version.bind")) ?? .root, type: .txt, class: .chaos)

    /// With EDNS, for which a refusal comes with its reason.
    private static func query(_ id: UInt16) -> [UInt8] {
        var builder = MessageBuilder(id: id, flags: [])
        builder.append(question)
        builder.append(EDNS(udpPayloadSize: UInt16(EDNS.defaultPayloadSize)))
        return builder.bytes
    }

    private static func isOurs(_ reply: Message) -> Bool {
        let text = Record.chaosText(LocalAnswers.serverName, name: question.name).rdata
        return reply.responseCode == .noError && reply.answers.contains { $0.type == .txt && $0.rdata == text }
    }

    /// Whether it is that of a client that is not in `listen.allow`: others refuse to say their version.
    private static func isRefusal(_ reply: Message) -> Bool {
        let prohibited = ExtendedError.Code.prohibited.rawValue
        return reply.responseCode == .refused
            && reasons(of: reply).contains { $0.starts(with: [UInt8(prohibited >> 8), UInt8(prohibited & 0xff)]) }
    }

    /// Whether it is that of an overloaded server of ours, which asks nothing more of itself for this client.
    private static func isOverload(_ reply: Message) -> Bool {
        let text = Array(ExtendedError.overloaded.text.utf8)
        return reply.responseCode == .serverFailure
            && reasons(of: reply).contains { $0.dropFirst(2).elementsEqual(text) }
    }

    private static func reasons(of reply: Message) -> [[UInt8]] {
        (reply.edns?.options ?? []).filter { $0.code == .extendedError }.map { Array($0.data) }
    }

    /// The reply that comes within so many milliseconds; a refused connection ends the try at once.
    private static func receive(_ socket: Int32, replyTo id: UInt16, within wait: Int32) -> Message? {
        var buffer = [UInt8](repeating: 0, count: EDNS.defaultPayloadSize)
        var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        let end = ContinuousClock.now + .milliseconds(Int64(wait))
        while ContinuousClock.now < end {
            guard unsafe poll(&entry, 1, (end - .now).pollTimeout) > 0 else { return nil }
            let count = unsafe recv(socket, &buffer, buffer.count, 0)
            if count < 0 {
                // No server listens there now; perhaps in the next try.
                usleep(UInt32(max(0, (end - ContinuousClock.now) / .microseconds(1))))
                return nil
            }
            if let reply = try? MessageParser.parse(Array(buffer[..<count])), reply.id == id,
                reply.flags.contains(.response), reply.questions == [question]
            {
                return reply
            }
        }
        return nil
    }
}
