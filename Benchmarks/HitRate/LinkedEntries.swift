/// Names in a linked list, newest first, in nodes that are reused: shared by LRU and SIEVE.
struct LinkedEntries {
    /// One name's node; -1 means none.
    struct Node {
        var name: Int
        var newer = -1
        var older = -1
        var isVisited = false
    }

    private(set) var nodes: [Node] = []
    private(set) var newest = -1
    private(set) var oldest = -1
    private var places: [Int: Int] = [:]
    private var free: [Int] = []

    var count: Int { places.count }

    /// The index of `name`'s node.
    func place(of name: Int) -> Int? { places[name] }

    mutating func insert(_ name: Int) {
        let place: Int
        if let reused = free.popLast() {
            place = reused
            nodes[place] = Node(name: name)
        } else {
            place = nodes.count
            nodes.append(Node(name: name))
        }
        places[name] = place
        link(place)
    }

    mutating func remove(_ place: Int) {
        unlink(place)
        places[nodes[place].name] = nil
        free.append(place)
    }

    mutating func makeNewest(_ place: Int) {
        unlink(place)
        link(place)
    }

    mutating func setVisited(_ place: Int, _ isVisited: Bool) { nodes[place].isVisited = isVisited }

    private mutating func link(_ place: Int) {
        nodes[place].newer = -1
        nodes[place].older = newest
        if newest >= 0 { nodes[newest].newer = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: Int) {
        let node = nodes[place]
        if node.newer >= 0 { nodes[node.newer].older = node.older } else { newest = node.older }
        if node.older >= 0 { nodes[node.older].newer = node.newer } else { oldest = node.newer }
    }
}
