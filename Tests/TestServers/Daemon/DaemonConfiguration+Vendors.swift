extension DaemonConfiguration {
    /// A `[[provider]]` of type `aliyun-v2` with the credentials of `account`.
    ///
    /// - Parameter extra: more lines of the table.
    package static func aliyunV2(
        _ url: String, _ account: FakeAliyunV2Account, name: String = "vendor", _ extra: String = ""
    ) -> String {
        let encryption =
            switch account.mode {
            case .plain: "encryption = \"none\""
            case .cbc: "encryption = \"cbc\"\nencryption_key = \"\(account.encryptionKey)\""
            case .gcm: "encryption_key = \"\(account.encryptionKey)\""
            }
        return """
            [[provider]]
            type = "aliyun-v2"
            name = "\(name)"
            account = "\(account.id)"
            \(account.secret.map { "secret = \"\($0)\"" } ?? "")
            \(encryption)
            url = "\(url)"
            \(extra)

            """
    }

    /// A `[[provider]]` of type `tencent` or `tencent-https` with the credentials of `account`.
    package static func tencent(
        _ url: String, _ account: FakeTencentAccount, name: String = "vendor", _ extra: String = ""
    ) -> String {
        let lines =
            switch account {
            case .des(let id, let key):
                "type = \"tencent\"\naccount = \"\(id)\"\nencryption = \"des\"\nencryption_key = \"\(key)\""
            case .aes(let id, let key): "type = \"tencent\"\naccount = \"\(id)\"\nencryption_key = \"\(key)\""
            case .token(let token): "type = \"tencent-https\"\nsecret = \"\(token)\""
            }
        return """
            [[provider]]
            \(lines)
            name = "\(name)"
            url = "\(url)"
            \(extra)

            """
    }
}
