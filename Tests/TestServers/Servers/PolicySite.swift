import Foundation
import TestSupport

/// nginx as the server of files over https, such as signed policies, with entity tags.
package final class PolicySite: Sendable {
    package let address: TestAddress
    private let leaf: TestCertificates.Leaf
    private let directory: TemporaryDirectory
    private let process: NginxProcess

    /// Starts it on 127.0.0.1.
    package init(_ leaf: TestCertificates.Leaf) throws {
        let address = try TestAddress("127.0.0.1", port: FreePort.next())
        let directory = try TemporaryDirectory()
        (self.address, self.leaf, self.directory) = (address, leaf, directory)
        process = try NginxProcess(
            """
            server {
              listen \(address) ssl http2;
              ssl_certificate \(leaf.certificate);
              ssl_certificate_key \(leaf.key);
              root \(directory.path);
            }
            """, namespace: nil)
    }

    /// The path of a file that it serves.
    package func path(_ file: String) -> String { "\(directory.path)/\(file)" }

    /// The statuses of its responses so far.
    package var statuses: [Int] {
        process.log.compactMap {
            $0.split(separator: " ", omittingEmptySubsequences: false).dropFirst(4).first.flatMap { Int($0) }
        }
    }

    /// Waits until it has answered so many requests with this status.
    package func waitFor(_ count: Int, status: Int, within limit: Duration = .patience) -> Bool {
        eventually(within: limit) { statuses.count { $0 == status } >= count }
    }
}
