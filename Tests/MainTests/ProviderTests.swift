import TestServers
import Testing

extension MainJob {
    /// dig, the program, and a service of each form.
    struct ProviderTests {
        @Test(arguments: VendorForm.allCases)
        func `dig gets both families over UDP and TCP, and LocalDNS is not asked`(form: VendorForm) throws {
            // Where the machine is so busy that the service is late LocalDNS is asked, too, and nothing is wrong: then once more.
            for _ in 0..<4 where try isAsked(form) { return }
        }

        /// Asks for all, and expects that no more than this was needed. Returns whether both families had their answers before
        /// LocalDNS was due: else it may be asked.
        private func isAsked(_ form: VendorForm) throws -> Bool {
            let vendor = try FakeHTTPDNS(MainJob.zone, account: form.account)
            let localDNS = try FakeLocalDNS(MainJob.forged)
            let daemon = try Daemon(
                form.provider(vendor.url) + DaemonConfiguration.rest(localDNS: localDNS.address))
            let began = ContinuousClock.now
            var isInTime = true
            for option in ["+notcp", "+tcp"] {
                let four = try Dig(daemon.address, "www.example.com", "A", [option])
                #expect(four.addresses == ["192.0.2.1", "192.0.2.2"], "\(four.text)")
                let six = try Dig(daemon.address, "www.example.com", "AAAA", [option])
                #expect(six.addresses == ["2001:db8::1"], "\(six.text)")
                if option == "+notcp" { isInTime = .now - began < .milliseconds(300) }
            }
            guard isInTime else { return false }
            // One call, or one for each family.
            #expect(vendor.callCount() == (form == .doh || form == .json || form == .alidns ? 2 : 1))
            #expect(localDNS.questionCount("www.example.com") == 0)
            return true
        }
    }
}
