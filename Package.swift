// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target: Swift 6 mode, all warnings are errors, imports hidden unless said otherwise.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // A section for each function: the linker can then move one alone (see httpdnsd), and leave out what nothing calls.
    .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)),
]

/// The pure targets (no C import, no descriptor): the compiler also refuses unmarked unsafe code.
let pure: [SwiftSetting] = strict + [.strictMemorySafety()]

let package = Package(
    name: "httpdnsd",
    products: [.executable(name: "httpdnsd", targets: ["httpdnsd"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    ],
    targets: [
        // C libraries of the distribution, and Linux calls that the Glibc module lacks.
        .target(name: "CLinux"),
        .target(name: "CPrefetch"),
        .target(
            name: "CDnstap", exclude: ["dnstap.proto"],
            linkerSettings: [.linkedLibrary("fstrm"), .linkedLibrary("protobuf-c")]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CCares", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),
        // Without its pkg-config file, of which SwiftPM takes no flag and says so at each build.
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),

        // Pure cores.
        .target(name: "Scheduling", swiftSettings: pure),
        .target(name: "DNSWire", swiftSettings: pure),
        .target(name: "DNSCache", dependencies: ["CPrefetch", "DNSWire", "Scheduling"], swiftSettings: pure),
        .target(name: "HTTPDNS", dependencies: ["DNSWire"], swiftSettings: pure),
        .target(name: "DNSResolver", dependencies: ["DNSWire", "DNSCache", "Scheduling"], swiftSettings: pure),

        // The outside world.
        .target(
            name: "Platform", dependencies: ["CLinux", "CSeccomp", "DNSWire", "Scheduling"], swiftSettings: strict),
        .target(
            name: "DiskCache", dependencies: ["CSQLite", "DNSCache", "DNSWire", "Platform", "Scheduling"],
            swiftSettings: strict),
        .target(
            name: "Logs",
            dependencies: ["HTTPDNS", "Platform", "Scheduling", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict),
        .target(
            name: "Upstreams",
            dependencies: [
                "DNSWire", "HTTPDNS", "DNSResolver", "Platform", "Scheduling", "CLinux", "CCurl", "CNghttp2",
                "CCares", "COpenSSL", "CHiredis",
            ],
            swiftSettings: strict),
        .target(
            name: "DNSServer",
            dependencies: [
                "CDnstap", "CLinux", "CNghttp2", "COpenSSL", "DNSWire", "DNSCache", "DNSResolver", "Logs", "Platform",
                "Scheduling",
            ],
            swiftSettings: strict),
        .target(
            name: "Configuration",
            dependencies: ["DNSWire", "HTTPDNS", "Platform"], swiftSettings: strict),
        .target(
            name: "Admin",
            dependencies: [
                "DNSCache", "DNSWire", "HTTPDNS", "DNSResolver", "Platform", "Scheduling", "Upstreams", "CCurl",
                "CMicrohttpd",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "httpdnsd",
            dependencies: [
                "Admin", "Configuration", "DNSCache", "DNSResolver", "DNSServer", "DNSWire", "DiskCache", "HTTPDNS",
                "Logs",
                "Platform", "Scheduling", "Upstreams",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict,
            // Around each page of code that is called the kernel maps 64 KiB, so the functions that a running server calls are
            // put beside each other (Documentation/Decisions/0032-function-order.md). lld comes with Swift, and takes names
            // that the sources no longer have.
            linkerSettings: [
                .unsafeFlags(
                    [
                        "-use-ld=lld", "-Xlinker",
                        "--symbol-ordering-file=\(Context.packageDirectory)/scripts/function-order.txt",
                        "-Xlinker", "--no-warn-symbol-ordering",
                    ], .when(configuration: .release))
            ]),

        // Measuring; not part of the product.
        .executableTarget(
            name: "HitRate", dependencies: ["DNSCache", "DNSWire", "Scheduling"], path: "Benchmarks/HitRate",
            swiftSettings: strict),
        .executableTarget(
            name: "TransferFigures", dependencies: ["DNSWire", "HTTPDNS", "Platform", "Scheduling", "Upstreams"],
            path: "Benchmarks/TransferFigures", swiftSettings: strict),
        .executableTarget(
            name: "HitFigures", dependencies: ["DNSCache", "DNSWire", "Platform", "Scheduling"],
            path: "Benchmarks/HitFigures", swiftSettings: strict),
        .executableTarget(
            name: "MissFigures", dependencies: ["DNSCache", "DNSResolver", "DNSWire", "Platform", "Scheduling"],
            path: "Benchmarks/MissFigures", swiftSettings: strict),
        .executableTarget(
            name: "DiskFigures", dependencies: ["DNSCache", "DNSWire", "DiskCache", "Platform", "Scheduling"],
            path: "Benchmarks/DiskFigures", swiftSettings: strict),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "DNSWire", "DNSResolver", "Platform", "Scheduling", .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        .target(
            name: "CSQLiteFaults", path: "Tests/CSQLiteFaults", linkerSettings: [.linkedLibrary("sqlite3")]),
    ]
        + [
            ("Scheduling", []), ("DNSWire", []), ("DNSCache", ["DNSWire", "Scheduling"]),
            ("DiskCache", ["CSQLiteFaults", "DNSCache", "DNSWire", "Platform", "Scheduling"]),
            ("HTTPDNS", ["DNSWire", "Upstreams"]),
            ("DNSResolver", ["DNSWire", "DNSCache", "Scheduling"]), ("Platform", ["DNSWire", "Scheduling"]),
            ("Upstreams", ["COpenSSL", "DNSWire", "DNSResolver", "HTTPDNS", "Platform", "Scheduling"]),
            (
                "DNSServer",
                [
                    "CLinux", "CNghttp2", "COpenSSL", "DNSWire", "DNSCache", "DNSResolver", "Logs", "Platform",
                    "Scheduling",
                    .product(name: "Logging", package: "swift-log"),
                ]
            ),
            ("Configuration", ["DNSWire", "HTTPDNS"]),
            ("Logs", ["HTTPDNS", "Platform", "Scheduling", .product(name: "Logging", package: "swift-log")]),
            ("Admin", ["DNSResolver", "DNSWire", "HTTPDNS", "Platform", "Scheduling"]),
        ].map { (name: String, extra: [Target.Dependency]) in
            .testTarget(
                name: name + "Tests",
                dependencies: [.byName(name: name), "TestSupport"] + extra,
                exclude: [
                    "HTTPDNS": ["JSONTestSuite"], "Configuration": ["toml-test"], "Upstreams": ["x509-limbo"],
                ][name] ?? [],
                swiftSettings: strict)
        } + [
            .testTarget(
                name: "HttpdnsdTests",
                dependencies: [
                    "httpdnsd", "Admin", "Configuration", "DNSResolver", "DNSServer", "DNSWire", "HTTPDNS", "Logs",
                    "Platform", "Scheduling", "TestSupport", "Upstreams",
                ],
                swiftSettings: strict),
            .testTarget(
                name: "IntegrationTests", dependencies: ["TestSupport", "DNSWire", "httpdnsd"], swiftSettings: strict),
        ]
)

// HTTPDNSD_TESTS="UpstreamsTests …": only these tests and what they need are built, as a sanitizer wants everything again.
if let listed = Context.environment["HTTPDNSD_TESTS"] {
    var needed: Set<String> = []
    func need(_ name: String) {
        guard let target = package.targets.first(where: { $0.name == name }), needed.insert(name).inserted else {
            return
        }
        for case .byNameItem(let name, _) in target.dependencies { need(name) }
    }
    for name in listed.split(separator: " ") { need(String(name)) }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products = []
}
