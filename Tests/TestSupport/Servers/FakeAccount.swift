/// An account at one of the services that a `FakeHTTPDNS` speaks only for an account of its own.
package enum FakeAccount: Sendable {
    case aliyunV2(FakeAliyunV2Account)
    case tencent(FakeTencentAccount)
}
