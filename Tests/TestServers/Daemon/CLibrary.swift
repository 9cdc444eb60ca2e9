/// The C libraries with which programs look names up; `Tests/Clients/getaddrinfo.c` is compiled with each of them.
package enum CLibrary: String, CaseIterable, Sendable {
    case glibc
    case musl

    /// Path of the program, compiled once.
    package func lookup() throws -> String {
        try ClientProgram.compiled("getaddrinfo-" + rawValue) { program in
            [self == .musl ? "musl-gcc" : "gcc", "-std=c99", "-D_GNU_SOURCE", "-Wall", "-Werror", "-O1"]
                + ["-o", program, ClientProgram.source("getaddrinfo.c")] + (self == .musl ? ["-static"] : [])
        }
    }
}
