import Foundation
import TestSupport

/// A running nginx, with its files in a directory of its own; killed when the last reference is released.
final class NginxProcess: Sendable {
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Starts it, and waits until its sockets listen.
    ///
    /// - Parameters:
    ///   - servers: the contents of `http { }`.
    ///   - namespace: the network namespace to run it in.
    init(_ servers: String, namespace: NetworkNamespace?) throws {
        directory = try TemporaryDirectory()
        let file = try directory.write(Self.configuration(servers, directory.path), to: "nginx.conf")
        // Before it reads its configuration it would write to a log of the system.
        process = try ChildProcess(
            (namespace?.prefix ?? []) + ["nginx", "-c", file, "-e", directory.path + "/error.log"])
        try waitUntilReady()
    }

    /// The lines of its access log so far: connection, client's port, protocol, server name (SNI), status, target.
    var log: [Substring] { directory.read("access.log").split(separator: "\n") }

    private func waitUntilReady() throws {
        // The file is written once the sockets listen.
        guard eventually({ !process.isRunning || !directory.read("nginx.pid").isEmpty }), process.isRunning else {
            throw TestFailure("nginx did not start: \(process.errors) \(directory.read("error.log"))")
        }
    }

    private static func configuration(_ servers: String, _ directory: String) -> String {
        """
        daemon off;
        master_process off;
        pid \(directory)/nginx.pid;
        error_log \(directory)/error.log error;
        worker_rlimit_nofile 8192;
        events { worker_connections 4096; }
        http {
          log_format line '$connection $remote_port $server_protocol $ssl_server_name $status $request_uri $ssl_session_reused';
          access_log \(directory)/access.log line;
          client_body_temp_path \(directory)/body;
          proxy_temp_path \(directory)/proxy;
          fastcgi_temp_path \(directory)/fastcgi;
          uwsgi_temp_path \(directory)/uwsgi;
          scgi_temp_path \(directory)/scgi;
          proxy_http_version 1.1;
          keepalive_requests 100000;
          keepalive_timeout 600s;
          \(servers)
        }
        """
    }
}
