import Configuration
import DNSServer
import Glibc

extension Configuration.Listen {
    /// The files of encrypted listeners; nil when there are none.
    var tlsFiles: TLSFiles? {
        guard isEncrypted else { return nil }
        return TLSFiles(certificate: certificate, key: key, ocsp: ocsp, clientAuthorities: clientCA)
    }
}

extension Configuration {
    /// Why encrypted listeners could not serve: one line each. Reads the files.
    var certificateProblems: [String] {
        do throws(TLSFiles.Problem) {
            _ = try certificateContext
            return []
        } catch {
            return ["\(error) (see listen.certificate and listen.key)"]
        }
    }

    /// What is said of a certificate that is not valid now: it is served all the same, since a client may accept it and a
    /// server that does not start answers no client.
    var expiredCertificate: String? {
        guard let validity = try? certificateContext?.validity, !validity.contains(Int64(time(nil))) else { return nil }
        let what = validity.upperBound < Int64(time(nil)) ? "has expired" : "is not valid yet"
        return "\(listen.certificate): \(what), so clients refuse it: renew it"
    }

    private var certificateContext: TLSContext? {
        get throws(TLSFiles.Problem) {
            guard let files = listen.tlsFiles else { return nil }
            return try TLSContext(try files.read())
        }
    }
}
