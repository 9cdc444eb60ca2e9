// Any bytes as a server's certificate: the text that is recorded of it is printable and of limited length, and no error
// is left on the thread.

import COpenSSL
import DNSResolver
@testable import Upstreams

func fuzzCertificate(_ input: [UInt8]) {
    let parsed = input.withUnsafeBufferPointer { buffer in
        var start = buffer.baseAddress
        return d2i_X509(nil, &start, buffer.count)
    }
    ERR_clear_error()
    guard let certificate = parsed else { return }
    defer { X509_free(certificate) }
    let evidence = CertificateEvidence("a reason", of: certificate)
    for text in [evidence.subject, evidence.issuer] {
        precondition(text.utf8.count <= 256 + 3, "longer than it may be")
        precondition(text.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "bytes that are not printable")
    }
    precondition(evidence.fingerprint.utf8.count == 64, "no SHA-256")
    precondition(ERR_peek_error() == 0, "an error is left behind")
}
