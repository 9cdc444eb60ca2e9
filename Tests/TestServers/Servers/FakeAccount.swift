/// An account at one of the services that a `FakeHTTPDNS` offers only with an account.
package enum FakeAccount: Sendable {
    case aliyunV2(FakeAliyunV2Account)
    case tencent(FakeTencentAccount)
}
