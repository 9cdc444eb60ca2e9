import Glibc
import SwiftOperators
import SwiftParser
import SwiftSyntax

// mutate count FILE...                       prints how many candidates there are
// mutate put NUMBERS FILE...                 puts the mutations of these numbers (1,2,3) into the files, and prints a line of
//                                            JSON for each: its number, file, line, and text
//
// Candidates are numbered from 1 in the order of the files given, and of the text.

func contents(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&part, 1, part.count, file), count > 0 { bytes += part[..<count] }
    return String(decoding: bytes, as: UTF8.self)
}

func save(_ text: String, to path: String) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    defer { fclose(file) }
    return fwrite(text, 1, text.utf8.count, file) == text.utf8.count
}

func fail(_ text: String) -> Never {
    let line = "mutate: \(text)\n"
    _ = Glibc.write(2, line, line.utf8.count)
    exit(1)
}

let words = Array(CommandLine.arguments.dropFirst())
guard let verb = words.first, verb == "count" || (verb == "put" && words.count > 1) else {
    fail("mutate count FILE... | mutate put NUMBERS FILE...")
}
let chosen = verb == "put" ? Set(words[1].split(separator: ",").compactMap { Int($0) }) : nil
var next = 1
for path in words.dropFirst(verb == "put" ? 2 : 1) {
    guard let text = contents(of: path) else { fail("\(path) cannot be read") }
    let parsed = Parser.parse(source: text)
    guard let tree = OperatorTable.standardOperators.foldAll(parsed, errorHandler: { _ in }).as(SourceFileSyntax.self)
    else { fail("\(path) cannot be parsed") }
    let mutator = Mutator(tree, file: path, Choice(first: next, chosen: chosen))
    let mutated = mutator.visit(tree)
    next = mutator.end
    guard let chosen else { continue }
    for (number, mutation) in mutator.mutations.sorted(by: { $0.key < $1.key }) where chosen.contains(number) {
        let escaped = mutation.text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        print("{\"number\":\(number),\"file\":\"\(mutation.file)\",\"line\":\(mutation.line),\"text\":\"\(escaped)\"}")
    }
    guard save(mutated.description, to: path) else { fail("\(path) cannot be written") }
}
if chosen == nil { print(next - 1) }
