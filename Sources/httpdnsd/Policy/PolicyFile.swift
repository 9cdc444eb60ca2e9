import Configuration
import DNSResolver
import DNSWire
import Glibc
import HTTPDNS
import Platform
import Upstreams

/// The signed policy that was taken last, in a file beside the cache, or without one beside the control socket, and its entity
/// tag in another one beside that.
///
/// The tag's file names the URL and the document, by the line that holds its signature: beside any other document, as
/// after a power cut between the two, it says nothing.
struct PolicyFile: Sendable {
    /// Longer lines, and longer files of tags, are of no use.
    private static let longest = 4_096

    let path: String

    /// Nil when the configuration wants no policy, or has neither of the two.
    init?(_ settings: Configuration) {
        let neighbour = settings.cache.disk.path.isEmpty ? settings.control.socket : settings.cache.disk.path
        guard settings.policy.url != nil, !neighbour.isEmpty else { return nil }
        path = neighbour + ".policy"
    }

    private var tagPath: String { path + ".tag" }

    /// The document; nil where none can be read.
    var bytes: [UInt8]? { try? readFile(path, limit: PolicyEnvelope.maximumSize + 1) }

    /// Stores a document and the entity tag under which it is at a URL, on a thread of its own.
    func store(_ bytes: [UInt8], tag: String?, at url: String) async throws(SystemError) {
        try await NamedThread.run("policy") {
            Result { () throws(SystemError) in
                try replaceFile(path, bytes, mode: 0o600)
                guard let tag, let signature = Self.firstLine(bytes) else { return }
                let content = Array("\(url)\n".utf8) + signature + Array("\n\(tag)\n".utf8)
                try replaceFile(tagPath, content, mode: 0o600)
            }
        }.get()
    }

    /// The entity tag under which the stored document was at a URL; nil where none is known.
    func tag(at url: String) -> String? {
        guard let content = try? readFile(tagPath, limit: Self.longest),
            let document = try? readFile(path, limit: Self.longest), let signature = Self.firstLine(document)
        else { return nil }
        let fields = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // Four: the last line has an end. Nothing but a tag gets into a request.
        guard fields.count == 4, fields[3].isEmpty, fields[0].elementsEqual(url.utf8), fields[1] == signature,
            !fields[2].isEmpty, fields[2].allSatisfy({ (0x20...0x7e).contains($0) })
        else { return nil }
        return String(decoding: fields[2], as: UTF8.self)
    }

    private static func firstLine(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        bytes.prefix(longest).firstIndex(of: UInt8(ascii: "\n")).map { bytes[..<$0] }
    }
}

/// Reads the signed policy where it is, and verifies nothing.
///
/// The text is the entity tag of the document that is known already; nil: none is.
typealias PolicyFetch = @Loop (String?) async -> FetchedPolicy

/// What is at `policy.url` now.
enum FetchedPolicy {
    /// - tag: by which it is known again.
    case document([UInt8], tag: String?)
    /// The document of the tag.
    case unchanged
    case failed(String)

    fileprivate init(file path: String) {
        do throws(SystemError) {
            self = .document(try readFile(path, limit: PolicyEnvelope.maximumSize + 1), tag: nil)
        } catch {
            self = .failed("cannot be read: \(error.reason)")
        }
    }
}

extension PolicyLocation {
    /// What fetches the policy from here.
    @Loop
    func fetch(
        by settings: Configuration, _ bootstrap: HostSources, paths: NetworkPaths, loop: EventLoop
    ) -> PolicyFetch {
        switch self {
        case .file(let path):
            return { _ in
                do throws(SystemError) {
                    return try await NamedThread.run("policy") { FetchedPolicy(file: path) }
                } catch {
                    return .failed("\(error)")
                }
            }
        case .https(let url):
            let document = WebDocument(
                host: url.host.description, port: url.port, path: url.path, caFile: settings.policy.caFile,
                proxy: settings.http.proxy.flatMap { SocketAddress($0) }, bootstrap: bootstrap, paths: paths,
                loop: loop)
            return { tag in
                switch await document.fetch(unless: tag) {
                case .success(let response) where response.status == 304 && tag != nil: .unchanged
                case .success(let response) where response.status == 200:
                    .document(response.body, tag: response.entityTag)
                case .success(let response): .failed("the server answers HTTP \(response.status)")
                case .failure(let failure): .failed("\(failure)")
                }
            }
        }
    }
}

/// The signed policy of a configuration, as `check` finds it: the document of a file, or the one that is stored beside
/// the cache. Nothing is fetched.
struct ExaminedPolicy {
    /// The one that would be in force; nil: none.
    private(set) var inForce: SignedPolicy?
    /// What is said of it, for people; nil: no policy is configured.
    private(set) var text: String?
    /// What is wrong, one line each; a server goes on with what it has.
    private(set) var warnings: [String] = []

    /// - Parameter now: seconds since 1970.
    init(_ settings: Configuration, now: Int64 = Int64(time(nil))) {
        guard let url = settings.policy.url else { return }
        let stored = stored(settings, now)
        if case .file(let path) = url { judge(path, after: stored, settings, now) }
        let place =
            if case .https = url { "\(url), which is not fetched for this check" } else { "\(url)" }
        guard let inForce else {
            text = "none in force, from \(place)"
            return
        }
        let changes = inForce.changes.isEmpty ? "changes nothing" : inForce.changes.joined(separator: ", ")
        text = "serial \(inForce.document.serial), expires \(inForce.document.expiryText), from \(place): \(changes)"
    }

    /// The verified document that was taken last; nil where there is none, or none that may be read.
    private mutating func stored(_ settings: Configuration, _ now: Int64) -> SignedPolicy? {
        guard let file = PolicyFile(settings), let bytes = file.bytes,
            let policy = open(bytes, file.path, settings, "the stored policy is not used")
        else { return nil }
        if policy.isExpired(at: now) {
            warnings.append("the stored policy with serial \(policy.document.serial) has expired: sign a later one")
        }
        if policy.isDue(by: settings, at: now) { inForce = policy }
        return policy
    }

    private mutating func judge(
        _ path: String, after stored: SignedPolicy?, _ settings: Configuration, _ now: Int64
    ) {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try readFile(path, limit: PolicyEnvelope.maximumSize + 1)
        } catch {
            return warnings.append("\(path): cannot be read: \(error.reason)")
        }
        guard let policy = open(bytes, path, settings, "it is not taken") else { return }
        switch PolicyDecision(on: policy, after: stored, now: now, isForMachine: policy.isFor(settings)) {
        case .take: inForce = policy
        case .same: break
        case .elsewhere: warnings.append("\(path): \(policy.elsewhere)")
        case .refuse(let reason): warnings.append("\(path) \(reason)")
        }
    }

    /// Verifies and reads a document; what is wrong with it names its lines.
    private mutating func open(
        _ bytes: [UInt8], _ path: String, _ settings: Configuration, _ end: String
    ) -> SignedPolicy? {
        do throws(ConfigurationError) {
            return try SignedPolicy.open(bytes, file: path, by: settings)
        } catch {
            warnings += error.diagnostics.map { "\($0); \(end)" }
            return nil
        }
    }
}

extension SignedPolicy {
    /// Verifies a signed file by the keys of a configuration, and only then reads it.
    static func open(
        _ bytes: [UInt8], file: String, by settings: Configuration
    ) throws(ConfigurationError) -> SignedPolicy {
        try open(bytes, file: file, keys: settings.policy.keys, check: PolicyKey.check)
    }

    /// What is said of one that is not for this machine.
    var elsewhere: String { "serial \(document.serial) is for other machines, by its share or labels" }

    /// Whether it is for this machine, by its share and the labels of the configuration.
    func isFor(_ settings: Configuration) -> Bool {
        document.isFor(percentile: Self.percentile, labels: settings.policy.labels)
    }

    /// This machine's place among all, 0 to 99: the same at every start and for every policy, so that a share which grows
    /// keeps those that are in it.
    private static let percentile = percentile(of: machine)

    /// What systemd calls the machine as long as it is installed; where it does not, as in containers, the host's name.
    private static var machine: [UInt8] {
        let id = (try? readFile("/etc/machine-id", limit: 64)) ?? []
        return id.isEmpty ? Array(hostName().utf8) : id
    }

    /// By a digest, so that the identity itself is not used for anything.
    static func percentile(of machine: [UInt8]) -> Int {
        let digest = OpenSSLCrypto().sha256(Array("httpdnsd policy share ".utf8) + machine) ?? []
        return digest.prefix(4).reduce(0) { ($0 << 8 | Int($1)) } % 100
    }

    /// - Parameter now: seconds since 1970.
    func isExpired(at now: Int64) -> Bool { document.expires <= now }

    /// Whether it should be in force on this machine.
    func isDue(by settings: Configuration, at now: Int64) -> Bool {
        isFor(settings) && (settings.policy.keepsExpired || !isExpired(at: now))
    }
}
