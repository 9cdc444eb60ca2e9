import Configuration
import DNSResolver
import HTTPDNS
import Platform
import Scheduling
import Upstreams

/// Reads the signed policy where the configuration says, and verifies nothing.
@Loop
final class PolicyFetcher {
    /// What is there now.
    enum Fetched {
        /// - tag: by which it is known again.
        case document([UInt8], tag: String?)
        /// The document of the tag.
        case unchanged
        case failed(String)
    }

    private enum Place {
        case file(String)
        case web(WebDocument)
    }

    private let place: Place

    /// - Parameters:
    ///   - location: `policy.url`.
    ///   - bootstrap: looks up the host.
    init(
        _ location: PolicyLocation, _ settings: Configuration, _ bootstrap: HostSources, paths: NetworkPaths,
        loop: EventLoop
    ) {
        place =
            switch location {
            case .file(let path): .file(path)
            case .https(let url):
                .web(
                    WebDocument(
                        host: url.host.description, port: url.port, path: url.path, caFile: settings.policy.caFile,
                        proxy: settings.http.proxy.flatMap { SocketAddress($0) }, bootstrap: bootstrap, paths: paths,
                        loop: loop))
            }
    }

    /// - Parameter tag: of the document that is known already; nil: none.
    func fetch(unless tag: String?) async -> Fetched {
        switch place {
        case .file(let path):
            do throws(SystemError) {
                return try await NamedThread.run("policy") { Self.read(path) }
            } catch {
                return .failed("\(error)")
            }
        case .web(let document):
            switch await document.fetch(unless: tag) {
            case .success(let response) where response.status == 304 && tag != nil: return .unchanged
            case .success(let response) where response.status == 200:
                return .document(response.body, tag: response.entityTag)
            case .success(let response): return .failed("the server answers HTTP \(response.status)")
            case .failure(let failure): return .failed("\(failure)")
            }
        }
    }

    private nonisolated static func read(_ path: String) -> Fetched {
        do throws(SystemError) {
            return .document(try readFile(path, limit: PolicyEnvelope.maximumSize + 1, isRegular: true), tag: nil)
        } catch {
            return .failed("cannot be read: \(error.reason)")
        }
    }
}
