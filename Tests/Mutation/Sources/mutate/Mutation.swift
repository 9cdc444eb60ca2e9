import SwiftSyntax

/// One small change of the source, and where it is.
struct Mutation {
    /// What is replaced, in words: `<` by `<=`.
    let text: String
    let file: String
    /// From 1.
    let line: Int
}

/// What a mutator does with the candidates that it meets, which it numbers from `first`.
struct Choice {
    var first: Int
    /// The numbers of those to put in; nil: none, they are only counted.
    var chosen: Set<Int>?
}

/// Puts mutations into a file, each behind a condition on `Mutation.active`: one build has them all.
final class Mutator: SyntaxRewriter {
    private var next: Int
    private let chosen: Set<Int>?
    private let file: String
    private let converter: SourceLocationConverter
    private(set) var mutations: [Int: Mutation] = [:]
    /// The number of the next candidate.
    var end: Int { next }

    init(_ tree: SourceFileSyntax, file: String, _ choice: Choice) {
        next = choice.first
        chosen = choice.chosen
        self.file = file
        converter = SourceLocationConverter(fileName: file, tree: tree)
        super.init()
    }

    /// Counts a candidate; returns its number if it is to be put in.
    private func take(_ text: String, at node: some SyntaxProtocol) -> Int? {
        let number = next
        next += 1
        mutations[number] = Mutation(text: text, file: file, line: node.startLocation(converter: converter).line)
        return chosen?.contains(number) == true ? number : nil
    }

    private static let replacements = [
        "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
        "&+": "&-", "&-": "&+", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    ]

    /// A text as an expression: only written, never read again.
    private func written(_ text: String) -> ExprSyntax {
        ExprSyntax(DeclReferenceExprSyntax(baseName: .identifier(text)))
    }

    /// A condition between two forms of an expression. The whole stays on the lines that it had.
    private func choose(_ number: Int, _ mutant: String, _ original: ExprSyntax) -> ExprSyntax {
        let condition = "(Mutation.active == \(number) ? (\(mutant)) : (\(original.trimmed.description)))"
        return written(original.leadingTrivia.description + condition + original.trailingTrivia.description)
    }

    override func visit(_ node: InfixOperatorExprSyntax) -> ExprSyntax {
        guard let sign = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text,
            let other = Self.replacements[sign]
        else { return super.visit(node) }
        let number = take("`\(sign)` by `\(other)`", at: node.operator)
        let visited = super.visit(node)
        guard let number else { return visited }
        let mutant = "\(node.leftOperand.trimmed) \(other) \(node.rightOperand.trimmed)"
        return choose(number, mutant, visited)
    }

    override func visit(_ node: PrefixOperatorExprSyntax) -> ExprSyntax {
        guard node.operator.text == "!" else { return super.visit(node) }
        let number = take("`!` left out", at: node)
        let visited = super.visit(node)
        guard let number else { return visited }
        return choose(number, node.expression.trimmed.description, visited)
    }

    override func visit(_ node: BooleanLiteralExprSyntax) -> ExprSyntax {
        let other = node.literal.text == "true" ? "false" : "true"
        guard let number = take("`\(node.literal.text)` by `\(other)`", at: node) else { return ExprSyntax(node) }
        return choose(number, other, ExprSyntax(node))
    }

    override func visit(_ node: IntegerLiteralExprSyntax) -> ExprSyntax {
        guard let value = Int(node.literal.text.replacing("_", with: "")) else { return ExprSyntax(node) }
        guard let number = take("`\(node.literal.text)` by `\(value + 1)`", at: node) else { return ExprSyntax(node) }
        return choose(number, "\(value + 1)", ExprSyntax(node))
    }

    /// A call whose value is not used is left out.
    override func visit(_ node: CodeBlockItemSyntax) -> CodeBlockItemSyntax {
        let call: ExprSyntax? = if case .expr(let expression) = node.item { expression } else { nil }
        guard let call, (call.is(FunctionCallExprSyntax.self) || call.is(TryExprSyntax.self)),
            node.parent?.as(CodeBlockItemListSyntax.self)?.count ?? 0 > 1
        else { return super.visit(node) }
        let name = call.trimmed.description.prefix { $0 != "(" && $0 != "{" && $0 != "\n" }
        let number = take("`\(name)` left out", at: node)
        let visited = super.visit(node)
        guard let number else { return visited }
        let text = "if Mutation.active != \(number) { \(visited.trimmed.description) }"
        let whole = node.leadingTrivia.description + text + node.trailingTrivia.description
        return CodeBlockItemSyntax(item: .expr(written(whole)))
    }

    // What decides nothing while the program runs, or must stay a literal.

    override func visit(_ node: AttributeSyntax) -> AttributeSyntax { node }
    override func visit(_ node: SwitchCaseLabelSyntax) -> SwitchCaseLabelSyntax { node }
    override func visit(_ node: EnumCaseDeclSyntax) -> DeclSyntax { DeclSyntax(node) }
    override func visit(_ node: ImportDeclSyntax) -> DeclSyntax { DeclSyntax(node) }
    override func visit(_ node: MacroExpansionExprSyntax) -> ExprSyntax { ExprSyntax(node) }
}
