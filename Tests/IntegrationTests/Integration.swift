import Foundation
import Glibc
import TestServers
import Testing

/// All tests of the running program, one after the other, as each starts several processes. None says how long something
/// takes, as the machine may be slow: that is in `TimingTests`.
@Suite(.serialized)
enum Integration {
    /// Whether all cases are played, and with as many names as the promises say: in `scripts/test --all`.
    static let isThorough = ProcessInfo.processInfo.environment["HTTPDNSD_THOROUGH"] == "1"
}

/// What a test needs of the machine besides the packages that `scripts/install-dependencies` installs.
enum Requirement {
    /// Permission to make network namespaces and packet filters.
    case networkNamespaces
    /// Permission to bind ports below 1024.
    case privilegedPorts
    /// No list of resolvers but `/etc/resolv.conf`: systemd-resolved and NetworkManager have lists of their own.
    case noSystemResolverLists
    /// An IPv6 loopback address.
    case ipv6
    /// A user other than root to change to.
    case otherUser
    /// Permission to see the open files of the server, which cannot be dumped.
    case processFiles
    /// systemd-resolved, which `scripts/install-dependencies` unpacks where the package's repository has it.
    case systemdResolved

    var isMet: Bool {
        switch self {
        case .networkNamespaces: NetworkNamespace.arePermitted
        case .privilegedPorts: geteuid() == 0
        case .noSystemResolverLists:
            access("/run/systemd/resolve/resolv.conf", F_OK) != 0
                && access("/run/NetworkManager/no-stub-resolv.conf", F_OK) != 0
        case .ipv6: (try? FreePort.next(on: ["::1"])) != nil
        case .otherUser, .processFiles: geteuid() == 0
        case .systemdResolved: SystemdResolved.executable != nil
        }
    }

    /// Why the test is skipped, as in `Tests/skipped-tests.txt`.
    var reason: Comment {
        switch self {
        case .networkNamespaces: "no leave to make network namespaces"
        case .privilegedPorts: "no leave to bind port 53"
        case .noSystemResolverLists: "the system keeps a list of resolvers that the test cannot replace"
        case .ipv6: "no IPv6 on the loopback interface"
        case .otherUser: "no leave to become another user"
        case .processFiles: "no leave to see the open files of a process that cannot be dumped"
        case .systemdResolved: "no systemd-resolved"
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test, with the reason, where the machine does not have what it needs.
    static func requires(_ requirement: Requirement) -> Self { .enabled(if: requirement.isMet, requirement.reason) }
}

// The tests' own types of the wire format; the daemon's types of these names are not used here.
typealias EDNS = TestEDNS
typealias RecordType = TestRecordType
typealias ResponseCode = TestResponseCode
