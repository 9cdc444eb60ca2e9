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
        return try Configuration.parse(text: text, file: "t.toml", environment: environment)
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
        _ = try Configuration.parse(text: text, file: "t.toml", environment: environment)
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
