import Foundation
import TestSupport

/// Waits until something holds that no event tells of: it is looked at again and again, with a pause for other programs.
///
/// - Returns: false when it does not come to that within `limit`.
package func eventually(within limit: Duration = .patience, _ holds: () throws -> Bool) rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while try !holds() {
        guard ContinuousClock.now < end else { return false }
        Thread.sleep(forTimeInterval: 0.01)
    }
    return true
}
