import Configuration
import DNSWire
import Platform

/// The sockets of this network namespace that receive on a port, and the programs that hold them, from `/proc`.
struct PortHolders {
    /// A program that holds a socket.
    struct Program: Equatable {
        let pid: Int
        /// The first 15 bytes of it.
        let name: String

        /// Whether it is one of us.
        var isServer: Bool { name == PortHolders.serverName }
        /// Whether it stores the sockets of services.
        var isServiceManager: Bool { pid == 1 || name == "systemd" }
    }

    private static let serverName = "httpdnsd"
    /// The most bytes of a list of sockets that are read: some 30,000 sockets.
    private static let maximumSize = 4 << 20

    private let files: MachineFiles
    private let open: [(address: AddressAndPort, isTCP: Bool, inode: Substring)]

    init(_ files: MachineFiles) {
        self.files = files
        open = ["udp", "udp6", "tcp", "tcp6"].flatMap {
            list -> [(address: AddressAndPort, isTCP: Bool, inode: Substring)] in
            let bytes = (try? readFile("\(files.root)/proc/net/\(list)", limit: Self.maximumSize)) ?? []
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap(Self.receiver)
        }
    }

    /// The sockets that receive what is sent to `address`, or keep a server from being bound to it: of each a program that holds
    /// it, ourselves before others and the service manager last; nil where that cannot be seen.
    ///
    /// - Parameter isTCPOnly: whether sockets for UDP are of no interest. Default: no.
    func holders(of address: AddressAndPort, isTCPOnly: Bool = false) -> [Program?] {
        let open = isTCPOnly ? open.filter(\.isTCP) : open
        var found = open.filter { $0.address.excludes(address) }
        // It may hold IPv4 too, unless another socket has that.
        if found.isEmpty { found = open.filter { $0.address == AddressAndPort(.v6(0), port: address.port) } }
        guard !found.isEmpty else { return [] }
        let programs = programs(of: Set(found.map(\.inode)))
        return found.map { programs[$0.inode] }
    }

    /// Whether a process is one of us.
    func isServer(_ pid: Int) -> Bool { name(of: "\(pid)") == Self.serverName }

    private func name(of pid: String) -> String? {
        files.text(of: "/proc/\(pid)/comm")?.split(separator: "\n").first.map(String.init)
    }

    /// The programs that hold sockets, as far as this user may see them.
    private func programs(of inodes: Set<Substring>) -> [Substring: Program] {
        var found: [Substring: Program] = [:]
        for pid in files.names(in: "/proc", ending: "") {
            guard let number = Int(pid), let name = name(of: pid) else { continue }
            let program = Program(pid: number, name: name)
            let folder = "/proc/\(pid)/fd"
            for descriptor in files.names(in: folder, ending: "") {
                guard let target = files.target(of: "\(folder)/\(descriptor)"), let socket = Self.inode(target),
                    inodes.contains(socket), program.rank > found[socket]?.rank ?? -1
                else { continue }
                found[socket] = program
            }
        }
        return found
    }

    /// The number in `/proc/1/fd/socket:[4711]`.
    private static func inode(_ target: String) -> Substring? {
        guard let start = target.firstRange(of: "/socket:["), target.hasSuffix("]") else { return nil }
        return target[start.upperBound...].dropLast()
    }

    /// Parses a line of such a list; nil for its head, and for sockets that talk to one peer alone.
    private static func receiver(_ line: Substring) -> (address: AddressAndPort, isTCP: Bool, inode: Substring)? {
        let fields = line.split(separator: " ")
        guard fields.count > 9, let address = address(fields[1]), fields[2].hasSuffix(":0000") else { return nil }
        // TCP_LISTEN, and what an unconnected UDP socket has.
        guard fields[3] == "0A" || fields[3] == "07" else { return nil }
        return (address, fields[3] == "0A", fields[9])
    }

    /// Reads `0100007F:0035`: words of 32 bits in the order of this machine's bytes.
    private static func address(_ text: Substring) -> AddressAndPort? {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1], radix: 16) else { return nil }
        var (digits, words) = (parts[0], [UInt32]())
        while !digits.isEmpty {
            guard let word = UInt32(digits.prefix(8), radix: 16), words.count < 4 else { return nil }
            words.append(UInt32(bigEndian: word))
            digits = digits.dropFirst(8)
        }
        switch words.count {
        case 1: return AddressAndPort(.v4(words[0]), port: port)
        case 4: return AddressAndPort(.v6(words.reduce(UInt128(0)) { $0 << 32 | UInt128($1) }), port: port)
        default: return nil
        }
    }
}

extension PortHolders.Program {
    /// Of several that hold one socket, the highest counts.
    fileprivate var rank: Int { isServer ? 2 : isServiceManager ? 0 : 1 }
}

extension AddressAndPort {
    /// Whether a socket bound to this keeps another of its family from being bound to `other`.
    fileprivate func excludes(_ other: AddressAndPort) -> Bool {
        overlaps(other) || port == other.port && address == other.address
    }
}
