import Configuration
import Foundation
import Testing

/// A text that parses by itself: tests add what they are about.
let minimal = """
    [[provider]]
    type = "doh"
    url = "https://192.0.2.1/dns-query"

    """

/// The variables that the examples of the pages take their credentials from; invented.
let credentials = [
    "ALIYUN_HTTPDNS_SECRET": "0123456789abcdef0123456789abcdef",
    "ALIYUN_HTTPDNS_KEY": "00112233445566778899aabbccddeeff",
    "DOH_TOKEN": "0123456789abcdef", "COOKIE_SECRET": "00112233445566778899aabbccddeeff",
    "FLEET_KEY": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "REDIS_PASSWORD": "secret",
    "ALIDNS_SECRET": "secret", "ACCOUNT_SECRET": "0123456789abcdef", "ACCOUNT_KEY": "0123456789abcdef",
    "TENCENT_HTTPDNS_KEY": "0123456789abcdef", "TENCENT_HTTPDNS_TOKEN": "123456789",
]

/// The configuration of a text that must be accepted.
func accepted(
    _ text: String, environment: [String: String] = [:], at location: SourceLocation = #_sourceLocation
) throws -> LoadedConfiguration {
    do {
        return try Configuration.parse(bytes: Array(text.utf8), file: "t.toml", environment: environment)
    } catch {
        Issue.record("refused: \(error)", sourceLocation: location)
        throw error
    }
}

/// The error lines of a text that must be refused.
func errors(
    _ text: String, environment: [String: String] = [:], at location: SourceLocation = #_sourceLocation
) -> [String] {
    do {
        _ = try Configuration.parse(bytes: Array(text.utf8), file: "t.toml", environment: environment)
        Issue.record("accepted", sourceLocation: location)
        return []
    } catch {
        return error.diagnostics.map(\.description)
    }
}

/// The only provider of a text that must be accepted, with these lines in its table.
func provider(_ lines: String, environment: [String: String] = [:]) throws -> Configuration.ProviderEntry {
    let loaded = try accepted("[[provider]]\n" + lines, environment: environment)
    return try #require(loaded.configuration.providers.first)
}

/// The lines of a page in `Documentation`.
func documentationLines(_ page: String) throws -> [Substring] {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Documentation/\(page)")
    return try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
}

/// A file with every key of the schema, most at their defaults.
let everyKey: String = {
    // What has no default in the file's own form, or is of use to a test.
    let written = [
        "listen.httpdns": "[\"127.0.0.1:8054\"]", "listen.name": "\"\"", "listen.advertise": "[]",
        "account[].id": "\"139450\"", "account[].secret": "\"${ALIYUN_HTTPDNS_SECRET}\"",
        "provider[].type": "\"aliyun\"", "provider[].name": "\"aliyun\"", "provider[].account": "\"139450\"",
        "provider[].secret": "\"${ALIYUN_HTTPDNS_SECRET}\"", "provider[].encryption": "\"\"",
        "provider[].url": "\"https://203.107.1.1\"", "provider[].addresses": "[\"203.107.1.1\", \"203.107.1.97\"]",
        "provider[].startup_addresses": "[]",
        "provider[].tls_names": "[\"resolvers.httpdns.aliyuncs.com\", \"203.107.1.1\"]",
        "provider[].hedge": "true", "provider[].timeout": "\"1s\"", "route.bypass": "[\"local.lan\"]",
        "forward[].suffixes": "[\"cluster.local\"]", "forward[].servers": "[\"10.96.0.10\"]",
        "cache.shared.key": "\"\"",
    ]
    var (text, table) = ("", Substring())
    for key in Configuration.allKeys {
        let name = key.path.split(separator: ".").last ?? ""
        let own = key.path.dropLast(name.count + 1)
        if own != table { text += own.hasSuffix("[]") ? "[[\(own.dropLast(2))]]\n" : "[\(own)]\n" }
        table = own
        text += "\(name) = \(written[key.path] ?? key.defaultText)  # \(key.type)\n"
    }
    return text
}()

/// The examples of the options page, by key.
func examples() throws -> [(key: SchemaKey, text: String)] {
    let page = try documentationLines("Options.md").joined(separator: "\n")
    return Configuration.allKeys.compactMap { key in
        guard let start = page.firstRange(of: "\n### `\(key.path)`\n"),
            let open = page[start.upperBound...].firstRange(of: "```toml\n"),
            let close = page[open.upperBound...].firstRange(of: "```\n")
        else { return nil }
        return (key, String(page[open.upperBound..<close.lowerBound]))
    }
}

/// What the examples read: their variables, and a folder with the files of their secrets, which is removed with `body`'s end.
func withCredentials(_ body: ([String: String]) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (file, key) in [("aliyun", "ACCOUNT_SECRET"), ("fleet-key", "FLEET_KEY")] {
        try (credentials[key] ?? "").write(to: folder.appending(path: file), atomically: true, encoding: .utf8)
    }
    try body(credentials.merging(["CREDENTIALS_DIRECTORY": folder.path]) { $1 })
}
