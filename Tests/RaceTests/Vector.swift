import DNSResolver
import DNSWire
import FoundationEssentials

/// One test vector of the strategy's model: a world, what happens in it, and what is then asked, checked, given and cached.
struct Vector {
    let name: String
    let world: JSON
    let events: [(at: Int, event: [JSON])]
    /// One line for each thing that the race is to do, in order, and one for what each type's cache has at the end.
    let expected: [String]

    static let all: [Vector] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors.json")
        guard let data = try? Data(contentsOf: file), let all = try? JSONDecoder().decode([JSON].self, from: data)
        else {
            return []
        }
        return all.map(Vector.init)
    }()

    init(_ json: JSON) {
        name = json["name"].text
        world = json["world"]
        events = json["events"].array.map { ($0["t"].number ?? 0, $0["event"].array) }
        expected =
            json["asked"].array.map {
                "\($0["t"].number ?? 0) ask \($0["source"].text) \($0["types"].texts) at \($0["address"].number ?? 0)"
            }
            + json["checks"].array.map {
                "\($0["t"].number ?? 0) check \($0["type"].text) \($0["addresses"].texts)"
            }
            + json["replies"].array.map {
                "\($0["t"].number ?? 0) give \($0["client"].text) \($0["type"].text) \(Self.text($0))"
            }
            + json["again"].array.map { "\($0["t"].number ?? 0) again \($0["client"].text) \($0["type"].text)" }
            + ["A", "AAAA"].compactMap { type in
                let entry = json["cache"][type]
                return entry.isNull ? nil : "end cache \(type) \(Self.text(entry))"
            }
    }

    /// Whether a client asks for a type.
    func isWanted(_ type: String) -> Bool {
        events.contains { $0.event[0].text == "join" && $0.event[2].text == type }
    }

    private static func text(_ entry: JSON) -> String {
        let life = entry["life"].number.map { "\($0) s" } ?? "its TTL"
        return "rank \(entry["rank"].number ?? 0) \(entry["kind"].text) of \(entry["source"].text) "
            + "\(entry["addresses"].texts) for \(life)"
    }
}
