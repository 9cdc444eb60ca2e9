import Configuration
import DNSServer
import DNSWire
import Glibc
import Platform

extension Configuration.Listen {
    /// The files of encrypted listeners; nil when there are none.
    var tlsFiles: TLSFiles? {
        guard isEncrypted else { return nil }
        return TLSFiles(certificate: certificate, key: key, clientAuthorities: clientCA)
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

    /// What is said of a certificate by which clients cannot discover encrypted listeners; nil when all is well.
    var undiscoverable: String? {
        guard let name = listen.name?.description, let context = try? certificateContext else { return nil }
        guard context.isFor(name: name) else {
            return "listen.name: \(listen.certificate) is not for \(name), so clients refuse it there"
        }
        let missing = listen.advertisedAddresses.map(\.description).filter { !context.isFor(address: $0) }
        guard !missing.isEmpty else { return nil }
        return
            "\(listen.certificate): is not for \(missing.joined(separator: ", ")), so clients that know only the address stay with plain DNS: have it made for the address too (IP SAN)"
    }

    /// What is said of files that `listen.user` cannot read: they are read before the server becomes that user, and not
    /// again. Becomes that user meanwhile, which only a program that does nothing else may do.
    func unreadableCertificateFiles() -> [String] {
        guard let files = listen.tlsFiles, !listen.user.isEmpty else { return [] }
        do throws(SystemError) {
            return try Privileges.unreadable(files.paths, by: listen.user).map { path, place, error in
                let mode = place == path ? "0640" : "g+x"
                let remedy = "chgrp $(id -gn \(listen.user)) \(place) && chmod \(mode) \(place)"
                return
                    "\(path): user \(listen.user) cannot read it (\(error.reason)), so a renewed one is taken at the next start only: \(remedy)"
            }
        } catch {
            return ["\(error), so it is not known which files of the certificate listen.user can read"]
        }
    }

    private var certificateContext: TLSContext? {
        get throws(TLSFiles.Problem) {
            guard let files = listen.tlsFiles else { return nil }
            return try TLSContext(try files.read())
        }
    }
}
