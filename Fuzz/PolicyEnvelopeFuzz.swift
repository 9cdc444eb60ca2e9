// Any bytes as a signed policy: without a valid signature nothing of them is read and one line says why; as the text of
// a policy whose signature is valid they are a policy or are refused with lines of the file, and a policy that is signed
// again is the same.

@testable import Configuration
import DNSWire

func fuzzPolicyEnvelope(_ bytes: [UInt8]) {
    guard let key = PolicyKey(bytes: [UInt8](repeating: 7, count: PolicyKey.length)) else { return }
    let signature = [UInt8](repeating: 9, count: PolicyKey.signatureLength)

    do {
        _ = try SignedPolicy.open(bytes, file: "f", keys: [key]) { _, _, _ in false }
        preconditionFailure("taken without a signature")
    } catch {
        precondition(error.diagnostics.count == 1 && error.diagnostics[0].line == 1, "read without a signature")
    }

    let signed = PolicyEnvelope.bytes(bytes[...], signature: signature, key: key)
    guard signed.count <= PolicyEnvelope.maximumSize else { return }
    guard let envelope = try? PolicyEnvelope(signed) else { preconditionFailure("not read again") }
    precondition(
        Array(envelope.text) == bytes && envelope.signature == signature && envelope.keyID == key.id,
        "another text, signature or key")
    precondition(PolicyEnvelope.text(of: signed) == envelope.text, "another text to be signed again")

    let lines = signed.count { $0 == UInt8(ascii: "\n") } + 1
    do {
        let policy = try SignedPolicy.open(signed, file: "f", keys: [key]) { _, signed, _ in signed == signature }
        precondition(policy.document.serial > 0, "a serial that is none")
        let merged = policy.applied(to: Configuration())
        precondition(merged.providers.isEmpty && merged.listen == Configuration.Listen(), "what it cannot set")
        precondition(merged.control == Configuration().control && merged.cache == Configuration().cache, "paths")
        precondition(merged.policy == Configuration().policy, "its own key")
        precondition(
            PolicyDecision(on: policy, after: policy, now: .max, isForMachine: false) == .same, "another document")
    } catch {
        precondition(!error.diagnostics.isEmpty, "refused without a reason")
        precondition(error.diagnostics.allSatisfy { $0.line.map((1...lines).contains) ?? true }, "a line that is none")
    }
}
