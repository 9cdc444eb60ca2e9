import Foundation
import Synchronization
import TestServers
import TestSupport

/// Scenes that run concurrently, each with servers and a daemon of its own, since most of their time is spent waiting.
enum Scenes {
    /// The percentage of a scene's time that the machine may spend on other work before a failure is discounted: the
    /// daemon's time-outs include that time.
    private static let tolerance = 12
    /// How often a scene is run that fails for that reason.
    private static let tries = 3

    /// Runs a scene once for each case.
    ///
    /// - Parameter play: returns deviations from what is expected. Its stopwatch is started when it begins.
    /// - Returns: all deviations, with their cases.
    static func play<Case: Sendable>(
        _ cases: [Case], _ play: @escaping @Sendable (Case, Stopwatch) throws -> [String]
    ) -> [String] {
        let surprises = Mutex<[String]>([])
        let group = DispatchGroup()
        for one in cases {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                let found = patiently { try play(one, $0) }
                surprises.withLock { $0 += found.map { "\(one): \($0)" } }
            }
        }
        group.wait()
        return surprises.withLock { $0 }
    }

    /// Runs a scene.
    static func play(_ play: (Stopwatch) throws -> [String]) -> [String] { patiently(play) }

    private static func patiently(_ play: (Stopwatch) throws -> [String]) -> [String] {
        var surprises: [String] = []
        for _ in 0..<tries {
            let watch = Stopwatch()
            do { surprises = try play(watch) } catch { surprises = ["\(error)"] }
            if surprises.isEmpty || watch.lost * 100 < watch.elapsed * tolerance { break }
        }
        return surprises
    }
}
