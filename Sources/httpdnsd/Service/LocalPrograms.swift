import DNSWire
import Glibc
import Platform
import Scheduling

/// What the programs of this machine are called: their user, and their systemd unit or other control group.
@Loop
final class LocalPrograms {
    /// The most names that are remembered; then all are looked up again.
    private static let limit = 256
    /// The most groups that are looked at for one: a few milliseconds, on the loop.
    private static let mostGroups = 1_024
    private static let root = "/sys/fs/cgroup"

    /// By the numbers of their groups; empty: there is none by this number.
    private var groups: [UInt64: String] = [:]

    /// `user 1000 (app.service)`; nil for clients that are no programs of this machine.
    func text(of network: ClientNetwork) -> String? {
        guard let program = network.program else { return nil }
        let group = name(of: program.group)
        return "user \(program.user)" + (group.isEmpty ? "" : " (\(group))")
    }

    /// The last part of the path of a group.
    private func name(of number: UInt64) -> String {
        if let known = groups[number] { return known }
        if groups.count >= Self.limit { groups = [:] }
        var left = Self.mostGroups
        let found = Self.folder(numbered: number, below: Self.root, &left)
        let name = found.flatMap { $0 == Self.root ? nil : $0.split(separator: "/").last.map(String.init) } ?? ""
        groups[number] = name
        return name
    }

    private static func folder(numbered number: UInt64, below path: String, _ left: inout Int) -> String? {
        var status = stat()
        guard left > 0, unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        left -= 1
        if UInt64(status.st_ino) & 0xff_ffff == number { return path }
        guard let folder = unsafe opendir(path) else { return nil }
        defer { unsafe closedir(folder) }
        while let entry = unsafe readdir(folder) {
            guard unsafe entry.pointee.d_type == UInt8(DT_DIR) else { continue }
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix("."), let found = self.folder(numbered: number, below: path + "/" + name, &left)
            else {
                continue
            }
            return found
        }
        return nil
    }
}
