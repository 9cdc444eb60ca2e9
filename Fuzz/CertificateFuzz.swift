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
    guard let certificate = parsed, let verification = X509_STORE_CTX_new() else {
        ERR_clear_error()
        return
    }
    defer {
        X509_STORE_CTX_free(verification)
        X509_free(certificate)
    }
    ERR_clear_error()
    guard X509_STORE_CTX_init(verification, nil, certificate, nil) == 1 else { return }
    let seen = SeenCertificate(for: "www.example.com")
    seen.note(verification)
    let evidence = seen.evidence("a reason")
    for text in [evidence.subject, evidence.issuer] {
        precondition(text.utf8.count <= 256 + 3, "longer than it may be")
        precondition(text.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "bytes that are not printable")
    }
    precondition(evidence.fingerprint.utf8.count == 64, "no SHA-256")
    precondition(ERR_peek_error() == 0, "an error is left behind")
}
