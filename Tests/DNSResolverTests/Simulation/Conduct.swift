import DNSResolver
import DNSWire
import TestSupport

/// How a simulated server treats the questions that arrive, until another conduct is adopted.
struct Conduct: Sendable {
    enum Reply: Sendable, Equatable {
        case addresses
        /// Addresses of the other family, and for this one: NODATA, NXDOMAIN, an indeterminate empty response, or a
        /// failure.
        case noData(RecordType), nameError(RecordType), empty(RecordType), fails(RecordType)
        case noDataAtAll, nameErrorAtAll, emptyAtAll
        case failure(UpstreamFailure)
        case silence
    }

    /// The kinds of addresses that a LocalDNS returns, as a TLS handshake shows them.
    enum Address: Int, Sendable, CaseIterable {
        case honest, slowHonest, hijacker, slowHijacker, refusing, silent, plain
    }

    var reply: Reply
    var delay: Duration
    /// In seconds.
    var ttl: UInt32
    /// What a LocalDNS returns; not used by other servers.
    var addresses: [Address]
    /// The number of the name whose addresses a LocalDNS returns; nil: the one it is asked for.
    var owner: Int?

    init(_ lots: inout SeededNumbers) {
        let family: RecordType = lots.happens(1, in: 2) ? .a : .aaaa
        reply =
            switch lots.number(0...23) {
            case 0...9: .addresses
            case 10: .noData(family)
            case 11: .nameError(family)
            case 12: .empty(family)
            case 13: .fails(family)
            case 14: .noDataAtAll
            case 15: .nameErrorAtAll
            case 16: .emptyAtAll
            case 17...20: .failure(lots.pick(Self.failures))
            default: .silence
            }
        delay = .milliseconds(lots.pick([0, 0, 10, 40, 90, 250, 320, 600, 950, 1_200, 1_600, 2_100]))
        ttl = UInt32(lots.pick([0, 1, 5, 12, 30, 60, 60, 300, 300, 3_600, 200_000]))
        addresses = (0..<lots.number(1...3)).map { _ in lots.pick(Address.allCases) }
    }

    init(_ reply: Reply, delay: Duration, ttl: UInt32) {
        (self.reply, self.delay, self.ttl) = (reply, delay, ttl)
        addresses = [.honest]
    }

    private static let failures: [UpstreamFailure] = [
        .network("refused"), .network("refused"), .unusable("HTTP 500"), .responseCode(.serverFailure),
        .responseCode(.refused), .refused("name not listed"), .authentication("signature"), .certificate("expired"),
        .busy("HTTP 429", retryAfter: .seconds(7)), .slow,
    ]

    /// A server's result for one type.
    enum Result: Equatable {
        case records, noData, nameError, empty
        case failure(UpstreamFailure)
    }

    /// Nil when the server sends no response.
    func result(for type: RecordType) -> Result? {
        switch reply {
        case .addresses: .records
        case .noData(let family): type == family ? .noData : .records
        case .nameError(let family): type == family ? .nameError : .records
        case .empty(let family): type == family ? .empty : .records
        case .fails(let family): type == family ? .failure(.responseCode(.serverFailure)) : .records
        case .noDataAtAll: .noData
        case .nameErrorAtAll: .nameError
        case .emptyAtAll: .empty
        case .failure(let failure): .failure(failure)
        case .silence: nil
        }
    }

    /// The same conduct for a plain DNS server: empty responses are NODATA or NXDOMAIN, and there are no account
    /// errors.
    var ofPlainDNS: Conduct {
        var plain = self
        switch reply {
        case .empty(let family): plain.reply = .noData(family)
        case .emptyAtAll: plain.reply = .noDataAtAll
        case .failure(.network), .failure(.responseCode): break
        case .failure: plain.reply = .failure(.responseCode(.serverFailure))
        default: break
        }
        return plain
    }

    /// Whether every question is answered with records or a denial.
    var answers: Bool {
        switch reply {
        case .addresses, .noData, .nameError, .noDataAtAll, .nameErrorAtAll: true
        case .empty, .fails, .emptyAtAll, .failure, .silence: false
        }
    }

    /// Whether other addresses of the same provider are asked for what this one does not answer.
    var leavesOthers: Bool {
        switch reply {
        case .silence, .failure(.network), .failure(.slow), .failure(.unusable), .failure(.certificate): true
        default: answers
        }
    }
}

extension Conduct.Address {
    /// The duration of a handshake, and its outcome.
    var handshake: (time: Duration, outcome: HandshakeOutcome) {
        let forged = HandshakeOutcome.wrongCertificate(
            CertificateEvidence(reason: "another name", subject: "CN=hijacker"))
        return switch self {
        case .honest: (.milliseconds(30), .verified)
        case .slowHonest: (.milliseconds(700), .verified)
        case .hijacker: (.milliseconds(30), forged)
        case .slowHijacker: (.milliseconds(700), forged)
        case .refusing: (.zero, .noTLS)
        case .silent: (.seconds(3_600), .silent)
        case .plain: (.milliseconds(30), .noTLS)
        }
    }

    var isHonest: Bool { self == .honest || self == .slowHonest }
    var isHijacker: Bool { self == .hijacker || self == .slowHijacker }
}
