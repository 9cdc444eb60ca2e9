import Foundation
import TestSupport

/// The result of a `FakeHTTPDNS`'s scheduling call: Aliyun's `/{account}/ss`, or Tencent's `/conf`, which has no ports
/// and disables nothing.
package struct FakeSchedule: Sendable {
    package var addresses: [TestAddress]
    package var isDisabled: Bool

    package init(_ addresses: [TestAddress], isDisabled: Bool = false) {
        self.addresses = addresses
        self.isDisabled = isDisabled
    }

    /// Aliyun's proper response; the signature, required if there is a secret, is verified with the `openssl` command.
    func reply(to request: RecordedRequest, secret: String?, at present: TimeInterval) -> HTTPReply {
        if let code = secret.flatMap({ Self.fault(request.parameters, $0, present) }) {
            return Self.json(403, "{\"code\":\"\(code)\"}")
        }
        let ips = addresses.map { "\"\($0.host)\"" }.joined(separator: ",")
        let ports = addresses.map { "\($0.port)" }.joined(separator: ",")
        let status = isDisabled ? ",\"service_status\":\"disable\"" : ""
        return Self.json(
            200, "{\"service_ip\":[\(ips)],\"service_ip_port\":[\(ports)],\"statistics\":{\"switch\":\"off\"}\(status)}"
        )
    }

    private static func fault(_ parameters: [String: String], _ secret: String, _ present: TimeInterval) -> String? {
        guard let nonce = parameters["n"], let time = parameters["t"], let signature = parameters["s"],
            (8...16).contains(nonce.count), nonce.allSatisfy(\.isHexDigit), time.count == 10,
            let seconds = TimeInterval(time)
        else { return "InvalidSignature" }
        guard (-150...300).contains(seconds - present) else { return "SignatureExpired" }
        guard let directory = try? TemporaryDirectory(),
            let file = try? directory.write("\(nonce)-\(secret)-\(time)", to: "signed"),
            let output = try? ChildProcess.succeed(["openssl", "md5", "-r", file])
        else { return "InternalError" }
        return output.prefix(32) == signature ? nil : "InvalidSignature"
    }

    private static func json(_ status: Int, _ body: String) -> HTTPReply {
        HTTPReply(status: status, contentType: "application/json", body: Array(body.utf8))
    }
}
