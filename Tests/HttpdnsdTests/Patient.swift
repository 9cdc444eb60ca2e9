import Admin
import Configuration
import Foundation
import Platform
import TestSupport

@testable import httpdnsd

/// A machine for checks: files below a folder, a configuration, and what its server says.
struct Patient {
    static let configuration = """
        [listen]
        addresses = ["127.0.0.1:53"]
        [[provider]]
        type = "aliyun"
        account = "139450"
        url = "http://127.0.0.1:9"
        [localdns]
        servers = ["192.0.2.53"]
        certificate_check = "off"
        [cache.disk]
        path = ""

        """

    let directory: TemporaryDirectory
    var examination: Examination

    /// - Parameters:
    ///   - files: texts by path, without the first slash.
    ///   - status: what the server says; nil: it does not run.
    ///   - hasRoute: whether the machine has a route to an address.
    init(
        _ files: [String: String] = [:], _ configuration: String = Patient.configuration, status: StatusReport? = nil,
        hasRoute: @escaping @Sendable (SocketAddress) -> Bool = { _ in true }
    ) throws {
        directory = try TemporaryDirectory()
        for (path, text) in files {
            try FileManager.default.createDirectory(
                atPath: directory.path + "/" + (path as NSString).deletingLastPathComponent,
                withIntermediateDirectories: true)
            try directory.write(text, to: path)
        }
        let file = try directory.write(configuration, to: "httpdnsd.toml")
        let loaded = try Configuration.load(path: file, Variables(process: [:], file: nil))
        examination = Examination(file: file, loaded: loaded, files: MachineFiles(root: directory.path))
        examination.hasRoute = hasRoute
        let said = status.map { Testimony($0, hasRoute) }
        examination.status = said.map { .success($0) } ?? .failure(ControlError(status: nil, text: "nothing there"))
    }

    /// Has no server answer on any address.
    mutating func silence() { for address in examination.served { examination.answers[address] = .silent } }

    /// The keys of what a check finds; nil where it cannot be made.
    func keys(_ check: Check) -> [String]? { check.findings(examination)?.map(\.key) }

    /// A program that holds a socket.
    func hold(pid: Int, name: String, inode: Int) throws {
        let folder = directory.path + "/proc/\(pid)"
        try FileManager.default.createDirectory(atPath: folder + "/fd", withIntermediateDirectories: true)
        try directory.write(name + "\n", to: "proc/\(pid)/comm")
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/fd/3", withDestinationPath: "socket:[\(inode)]")
    }
}

extension Configuration {
    static func parse(text: String) throws -> LoadedConfiguration { try parse(bytes: Array(text.utf8)) }
}
