// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target: Swift 6 mode, imports are hidden unless said otherwise.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // A section for each function: the linker leaves out what nothing calls, and one of two that are the same.
    .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)),
]

/// The product's targets: the compiler also refuses unsafe code that is not marked.
let strict = settings + [.strictMemorySafety(), .treatWarning("StrictMemorySafety", as: .error)]

/// Those of targets that no hit passes, and of a miss only little: small before fast.
let cold = strict + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

let package = Package(
    name: "httpdnsd",
    products: [.executable(name: "httpdnsd", targets: ["httpdnsd"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    ],
    targets: [
        // C libraries of the distribution, and Linux calls that the Glibc module lacks.
        .target(
            name: "CSystem", exclude: ["Dnstap/dnstap.proto"],
            linkerSettings: [.linkedLibrary("fstrm"), .linkedLibrary("protobuf-c")]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),
        // Without its pkg-config file, of which SwiftPM takes no flag and says so at each build.
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),

        // Pure cores: no descriptor, and no C but the prefetch of DNSCache.
        .target(name: "DNSWire", swiftSettings: strict),
        .target(name: "DNSCache", dependencies: ["CSystem", "DNSWire"], swiftSettings: strict),
        .target(name: "HTTPDNS", dependencies: ["DNSWire"], swiftSettings: strict),
        .target(name: "DNSResolver", dependencies: ["DNSWire", "DNSCache"], swiftSettings: strict),

        // The outside world.
        .target(
            name: "Platform",
            dependencies: [
                "CNghttp2", "CSeccomp", "CSystem", "DNSWire", "HTTPDNS",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "DiskCache", dependencies: ["CSQLite", "DNSCache", "DNSWire", "Platform"],
            swiftSettings: strict),
        .target(
            name: "Upstreams",
            dependencies: [
                "DNSWire", "HTTPDNS", "DNSResolver", "Platform", "CHiredis", "COpenSSL", "CSystem",
            ],
            swiftSettings: strict),
        .target(
            name: "DNSServer",
            dependencies: [
                "COpenSSL", "CSystem", "DNSWire", "DNSCache", "DNSResolver", "HTTPDNS", "Platform",
            ],
            swiftSettings: strict),
        .target(
            name: "Configuration",
            dependencies: [
                "DNSResolver", "DNSWire", "HTTPDNS", "Platform", "Upstreams",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: cold),
        .target(
            name: "Admin",
            dependencies: ["DNSCache", "DNSWire", "HTTPDNS", "DNSResolver", "DNSServer", "Platform"],
            resources: [.embedInCode("Page")], swiftSettings: cold),
        .executableTarget(
            name: "httpdnsd",
            dependencies: [
                "Admin", "Configuration", "DNSCache", "DNSResolver", "DNSServer", "DNSWire", "DiskCache", "HTTPDNS",
                "Platform", "Upstreams",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["no-unwind-tables.ld"], swiftSettings: cold,
            linkerSettings: [
                .unsafeFlags(
                    ["-use-ld=lld"]
                        + [
                            "--icf=all", "--no-export-dynamic", "-z", "now", "-z", "pack-relative-relocs",
                            // Nothing unwinds: no exceptions, and debuggers walk frame pointers.
                            "--no-eh-frame-hdr",
                            "-T", "\(Context.packageDirectory)/Sources/httpdnsd/no-unwind-tables.ld",
                        ].flatMap { ["-Xlinker", $0] },
                    .when(configuration: .release))
            ]),

        // Tests.
        // Time, numbers, folders and logs of tests.
        .target(
            name: "TestSupport",
            dependencies: ["DNSWire", "Platform", .product(name: "Logging", package: "swift-log")],
            path: "Tests/TestSupport", swiftSettings: settings),
        // Real servers, clients, networks, and the daemon as a process.
        .target(
            name: "TestServers",
            dependencies: [
                "DNSWire", "HTTPDNS", "Platform", "TestSupport", "Upstreams",
            ],
            path: "Tests/TestServers", swiftSettings: settings),
        // Sources on the manual clock.
        .target(
            name: "TestUpstreams", dependencies: ["DNSResolver", "DNSWire"], path: "Tests/TestUpstreams",
            swiftSettings: settings),
        .target(
            name: "CSQLiteFaults", path: "Tests/CSQLiteFaults", linkerSettings: [.linkedLibrary("sqlite3")]),
    ]
        + [
            ("DNSWire", []), ("DNSCache", ["DNSWire"]),
            ("DiskCache", ["CSQLiteFaults", "TestServers", "DNSCache", "DNSWire", "Platform"]),
            ("HTTPDNS", ["DNSWire", "Upstreams"]),
            ("DNSResolver", ["DNSWire", "DNSCache", "TestUpstreams"]),
            ("Platform", ["DNSWire", "HTTPDNS", .product(name: "Logging", package: "swift-log")]),
            (
                "Upstreams",
                [
                    "COpenSSL", "DNSWire", "DNSResolver", "HTTPDNS", "Platform", "TestServers",
                    "TestUpstreams",
                ]
            ),
            (
                "DNSServer",
                [
                    "CNghttp2", "COpenSSL", "CSystem", "DNSWire", "DNSCache", "DNSResolver", "Platform",
                    "TestServers", .product(name: "Logging", package: "swift-log"),
                ]
            ),
            ("Configuration", ["DNSResolver", "DNSWire", "HTTPDNS", "Platform", "Upstreams"]),
            ("Admin", ["DNSCache", "DNSResolver", "DNSServer", "DNSWire", "HTTPDNS", "Platform"]),
        ].map { (name: String, extra: [Target.Dependency]) in
            .testTarget(
                name: name + "Tests",
                dependencies: [.byName(name: name), "TestSupport"] + extra,
                exclude: [
                    "HTTPDNS": ["JSONTestSuite"], "Configuration": ["toml-test"], "Upstreams": ["x509-limbo"],
                ][name] ?? [],
                swiftSettings: settings)
        } + [
            // In every state: the release build of these visits millions.
            .testTarget(
                name: "RaceTests", dependencies: ["DNSResolver", "DNSWire"], exclude: ["Vectors.json"],
                swiftSettings: settings),
            .testTarget(
                name: "HttpdnsdTests",
                dependencies: [
                    "httpdnsd", "Admin", "Configuration", "DNSResolver", "DNSServer", "DNSWire", "HTTPDNS",
                    "Platform", "TestServers", "TestSupport", "Upstreams",
                ],
                swiftSettings: settings),
            .testTarget(
                name: "MainTests", dependencies: ["TestServers", "TestSupport", "httpdnsd"], swiftSettings: settings),
            .testTarget(
                name: "IntegrationTests",
                dependencies: ["Configuration", "TestServers", "TestSupport", "DNSWire", "httpdnsd"],
                swiftSettings: settings),
            // With the stages of IntegrationTests.
            .testTarget(
                name: "TimingTests", dependencies: ["IntegrationTests", "TestServers", "TestSupport"],
                swiftSettings: settings),
            .testTarget(
                name: "FuzzTests",
                dependencies: [
                    "Admin", "COpenSSL", "CSystem", "Configuration", "DNSCache", "DNSResolver", "DNSServer", "DNSWire",
                    "DiskCache", "HTTPDNS", "Platform", "Upstreams",
                ],
                path: "Fuzz", exclude: ["Corpus", "run"], swiftSettings: settings),
        ]
)

// HTTPDNSD_FIGURES=1: also the programs that measure parts of the server. Otherwise no build links them; in a package of their
// own they would not see what has `package` access.
if Context.environment["HTTPDNSD_FIGURES"] != nil {
    func figures(_ name: String, of measured: [Target.Dependency]) -> Target {
        .executableTarget(
            name: name, dependencies: measured, path: "Benchmarks/\(name)", swiftSettings: settings)
    }
    package.targets += [
        figures("HitRate", of: ["DNSCache", "DNSWire"]),
        figures("HitFigures", of: ["DNSCache", "DNSWire", "Platform"]),
        figures("DiskFigures", of: ["DNSCache", "DNSWire", "DiskCache", "Platform"]),
        figures("MissFigures", of: ["DNSCache", "DNSResolver", "DNSWire", "Platform"]),
        figures("TransferFigures", of: ["DNSWire", "HTTPDNS", "Platform", "Upstreams"]),
    ]
}

// HTTPDNSD_WARNINGS=error: as in continuous integration. Not for all, or a later compiler's new warning would stop a packager.
if Context.environment["HTTPDNSD_WARNINGS"] == "error" {
    for target in package.targets where target.swiftSettings != nil {
        target.swiftSettings?.append(.treatAllWarnings(as: .error))
    }
}

// HTTPDNSD_WHOLE=1: a test target is compiled in one piece, which takes a quarter less than its files one by one, of which each
// expands the macros of its tests once more for the module; after an edit all of it is compiled again.
if Context.environment["HTTPDNSD_WHOLE"] != nil {
    for target in package.targets where target.type == .test {
        target.swiftSettings?.append(
            .unsafeFlags(["-wmo", "-no-emit-module-separately-wmo", "-num-threads", "2"]))
    }
}

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
