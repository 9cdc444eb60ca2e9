import Foundation
package import TestSupport

/// systemd-resolved on a host of its own, from its package that is only unpacked: installed, it would replace the
/// machine's own `resolv.conf`.
package enum SystemdResolved {
    /// The executable, where `scripts/install-dependencies` has unpacked it, or the machine's own; nil: there is none.
    package static let executable: String? = [
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../.build-clients/lib/systemd/systemd-resolved").standardized.path,
        "/lib/systemd/systemd-resolved",
    ].first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Where it answers.
    package static let address = TestAddress("127.0.0.53", port: 53)

    /// Starts it, and waits until it answers.
    ///
    /// - Parameters:
    ///   - lines: of the `[Resolve]` section.
    ///   - authority: the certificate (PEM) of the only authority that it trusts.
    package static func start(
        _ lines: String, authority: String, on host: ClientHost, _ directory: TemporaryDirectory
    ) throws -> ChildProcess {
        guard let executable else { throw TestFailure("no systemd-resolved") }
        let folder = directory.path + "/resolved"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // It writes of the listeners that are extra alone that they listen, after the others do.
        let text = "[Resolve]\nDNSSEC=no\nLLMNR=no\nMulticastDNS=no\nDNSStubListenerExtra=127.0.0.55\n\(lines)\n"
        try directory.write(text, to: "resolved/resolved.conf")
        // Without a bus. It takes the user systemd-resolve only if it starts as root, and that one may not exist.
        let script = """
            mount -t tmpfs none /run && mkdir -p /run/systemd/resolve && chown nobody /run/systemd/resolve &&
            mount --bind "$1" /etc/systemd && mount --bind "$2" /etc/ssl/certs/ca-certificates.crt && shift 2 && exec "$@"
            """
        let capabilities = "+net_bind_service,+net_raw,+setpcap"
        return try ChildProcess(
            server: host.namespace.prefix + [
                "unshare", "--mount", "sh", "-c", script, "sh", folder, authority, "setpriv", "--reuid=nobody",
                "--regid=nogroup", "--clear-groups", "--inh-caps=" + capabilities, "--ambient-caps=" + capabilities,
                executable,
            ], until: "Listening on TCP socket",
            environment: ["SYSTEMD_LOG_TARGET": "console", "SYSTEMD_LOG_LEVEL": "debug"])
    }
}
