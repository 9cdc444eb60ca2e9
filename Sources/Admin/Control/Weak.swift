/// A reference that keeps nothing.
struct Weak<Object: AnyObject> {
    weak var object: Object?
}
