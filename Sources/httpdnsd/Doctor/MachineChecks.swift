import Admin
import Configuration
import Glibc
import Platform

// What the machine gives the server: disk, descriptors, memory, authorities.

extension Check {
    /// The least share of a file system that is to be free, in percent.
    private static let leastFree = 5.0
    /// Below this, in bytes, a flood may take the server beyond its limit (Documentation/Operations.md).
    private static let leastMemory = 64 << 20

    static let diskSpace = Check(subject: "space", well: "the cache on disk has room, or none is configured") {
        examined in
        let path = examined.settings.cache.disk.path
        let folder = MachineFiles.folder(of: path)
        var state = statvfs()
        // A folder that is missing is made by the server; what it cannot use, it says itself.
        guard !path.isEmpty, unsafe statvfs(folder.isEmpty ? "/" : folder, &state) == 0 else { return [] }
        if state.f_flag & UInt(ST_RDONLY) != 0 {
            return .warning(
                "disk.readonly", "\(folder) is on a file system that is mounted read-only",
                mend: "`mount -o remount,rw` for it, or cache.disk.path elsewhere")
        }
        return full(folder, free: state.f_bavail, of: state.f_blocks).map { [$0] } ?? []
    }

    /// What is found where a file system has so many blocks for users left; nil where that is enough.
    static func full(_ folder: String, free: UInt, of blocks: UInt) -> Finding? {
        let percent = Double(free) / Double(blocks) * 100
        guard percent < leastFree else { return nil }
        return Finding(
            "disk.full", .warning, "the file system of \(folder) has \(Int(percent)) % left",
            mend: "remove files there (`du -xh \(folder)`), or cache.disk.path elsewhere")
    }

    static let descriptors = Check(subject: "files", well: "the server may open as many files as it may need") {
        examined in
        guard let process = examined.process, let limit = fileLimit(of: process, examined.files) else { return nil }
        let budget = DescriptorBudget(limit: limit)
        guard budget.isReduced else { return [] }
        return .warning(
            "limits.files",
            "the server may open \(limit) files: \(budget.connections) TCP connections, \(budget.queries) queries to LocalDNS",
            mend: "LimitNOFILE=\(DescriptorLimit.wanted) in the unit, or `ulimit -n \(DescriptorLimit.wanted)`")
    }

    /// The soft limit of open files of a process; nil where it cannot be read.
    private static func fileLimit(of process: String, _ files: MachineFiles) -> Int? {
        let lines = (files.text(of: process + "/limits") ?? "").split(separator: "\n")
        let key = "Max open files"
        return lines.first { $0.hasPrefix(key) }?.dropFirst(key.count).split(separator: " ").first.flatMap {
            $0 == "unlimited" ? .max : Int($0)
        }
    }

    static let memory = Check(subject: "memory", well: "the memory limit, if any, has room for the cache and a flood") {
        examined in
        guard let process = examined.process else { return nil }
        let files = examined.files
        let groups = ControlGroups { path in files.text(of: path == "/proc/self/cgroup" ? process + "/cgroup" : path)
        }
        guard let limit = examined.settings.limits.memory ?? groups.memory else { return [] }
        let wanted = examined.settings.cache.memory
        let cache = MemoryBudget(limit: limit, cache: wanted).cache(wanted)
        guard limit < leastMemory || cache < wanted else { return [] }
        return .warning(
            "limits.memory",
            "memory is limited to \(limit >> 20) MiB: the cache has \(cache >> 20) MiB of \(wanted >> 20)",
            mend: "a higher MemoryMax= of the unit or the container, or limits.memory; or a smaller cache.memory")
    }

    static let authorities = Check(subject: "authorities", well: "the certificate authorities can be read") {
        examined in
        examined.settings.unreadableAuthorities.map { provider, file in
            Finding(
                "authorities.missing", .error,
                "\(file) cannot be read: no certificate of provider \(provider) can be verified",
                mend: "`apt install ca-certificates`, or the provider's ca_file")
        }
            + [examined.settings.unverifiableLocalDNS].compactMap(\.self).map { text in
                Finding(
                    "authorities.localdns", .warning, text,
                    mend: "`apt install ca-certificates`, or certificate_check = \"off\"")
            }
    }

    static let appArmor = Check(subject: "apparmor", well: "no AppArmor profile is seen in the server's way") {
        examined in
        let sign: (profile: String?, text: String)
        if let process = examined.process, let report = examined.report {
            guard let denied = report.failures.first(where: { $0.contains("Permission denied") }) else { return [] }
            let profile = ["apparmor/current", "current"].lazy.compactMap {
                examined.files.text(of: "\(process)/attr/\($0)")
            }.first
            sign = (profile, "the server, which is denied something: \(denied)")
        } else if examined.report == nil, examined.unanswered == examined.served {
            // Only root can read it.
            let profiles = examined.files.text(of: "/sys/kernel/security/apparmor/profiles") ?? ""
            let isOurs = { (line: Substring) in
                line.hasPrefix("httpdnsd ") || line.prefix { $0 != " " }.hasSuffix("/httpdnsd")
            }
            sign = (
                profiles.split(separator: "\n").first(where: isOurs).map(String.init), "the server, which does not run"
            )
        } else {
            return nil
        }
        guard let words = sign.profile?.split(whereSeparator: \.isWhitespace), words.count == 2,
            words[1] == "(enforce)"
        else { return [] }
        return .warning(
            "apparmor.enforced", "the AppArmor profile \(words[0]) confines \(sign.text)",
            mend:
                "`journalctl -k -g 'apparmor=.DENIED.'` shows what it denies: permit that in the profile, or `aa-complain \(words[0])`"
        )
    }
}
