/// The part of the schema that is read and checked but does nothing yet.
///
/// Whoever builds a part deletes its line here, and its mark in `Documentation/Options.md`; the warning then goes away by
/// itself.
enum NotBuilt {
    /// When a written key is worth the warning.
    enum Condition {
        case notDefault
        /// For a key whose default already asks for the part: when it was written and is not empty.
        case notEmpty
    }

    /// Keys in the form of `Schema.keys`; a table stands for all keys in it.
    static let keys: [String: Condition] = [
        "provider[].encryption_key": .notDefault,
        "provider[].encryption": .notDefault,
        "provider[].client_subnet": .notDefault,
        "cache.disk.path": .notEmpty,
        "cache.disk.flush_interval": .notDefault,
        "answers.https_records": .notDefault,
        "control.http": .notDefault,
        "http.proxy": .notDefault,
    ]

    /// Types of provider that are left out of the configuration when they are listed.
    static let providerTypes: Set<ProviderType> = [.aliyunV2, .tencent, .tencentHTTPS]

    /// One thing of the file that has no effect yet.
    struct Use {
        var path: SettingPath
        /// What is said of it beside its path and line.
        var remark: String?
    }

    static func note(_ path: SettingPath, _ node: TOMLNode, isDefault: Bool, in reading: Reading) {
        let matters =
            switch keys[path.schemaPath] {
            case nil: false
            case .notDefault: !isDefault
            case .notEmpty: node != .string("")
            }
        if matters { reading.notBuilt.append(Use(path: path)) }
    }

    /// The single warning about everything noted; nil when there is nothing.
    static func warning(_ reading: Reading) -> Diagnostic? {
        let sorted = reading.notBuilt.map { (use: $0, line: reading.lines.line(of: $0.path)) }
            .sorted { ($0.line ?? .max, $0.use.path.description) < ($1.line ?? .max, $1.use.path.description) }
        let uses = sorted.map { use, line in
            let remarks = [line.map { "line \($0)" }, use.remark].compactMap { $0 }
            return "\(use.path)" + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))")
        }
        guard !uses.isEmpty else { return nil }
        return Diagnostic(
            file: reading.file, message: "has no effect, because it is not built yet: \(uses.joined(separator: ", "))")
    }
}
