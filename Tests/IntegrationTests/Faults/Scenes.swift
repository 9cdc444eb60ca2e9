import Foundation
import Synchronization
import TestSupport

/// Scenes that are played side by side, each with servers and a daemon of its own: most of their time they wait.
enum Scenes {
    /// How much of a scene's time the machine may be busy with other things, in percent, until a failure says nothing:
    /// time-outs of the daemon count that time.
    private static let tolerance = 12
    /// How often a scene is played that fails for that reason.
    private static let tries = 3

    /// Plays a scene once for each case.
    ///
    /// - Parameter play: returns what is not as expected. It has a stopwatch that it starts with.
    /// - Returns: all that is not as expected, with its case.
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

    /// Plays a scene.
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
