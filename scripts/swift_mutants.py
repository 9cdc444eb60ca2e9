"""Small changes of Swift source, each put in behind a condition on `Mutation.active`.

There is no parser here: tokens, brackets and the precedence of operators are enough. What comes out wrong the compiler rejects.
"""

import re
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<number>0x[\da-fA-F_]+|0b[01_]+|0o[0-7_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][-+]?\d+)?)
      | (?P<word>`[^`\n]*`|[@\#$]?[^\W\d]\w*|\$\d+)
      | (?P<sign>\.\.[.<]|[-+*/%=<>!&|^~?]+)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
QUOTE = re.compile(r'(#*)("""|")')
OPPOSITES = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
    "&+": "&-", "&-": "&+", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
}  # fmt: skip
# From what binds least; what is not here (assignment, the ternary operator) ends an operand.
LEVELS = ["||", "&&", "== != < <= > >= === !== ~=", "??", "is as", "... ..<", "+ - &+ &- | ^", "* / % &* &", "<< >> &<< &>>"]
LEVEL = {sign: level for level, signs in enumerate(LEVELS, 1) for sign in signs.split()}
CONTROL = {"if", "guard", "else", "while", "for", "switch", "do", "catch", "defer", "repeat"}
DECLARATIONS = {"func", "init", "deinit", "subscript", "struct", "class", "enum", "extension", "protocol", "actor"}
# Words that stand before an expression, but are not of it.
EFFECTS = {"try", "await", "unsafe"}
BEFORE = EFFECTS | {"return", "throw", "yield", "if", "guard", "while", "case", "where", "in", "else", "switch"}
CONDITIONS = {"if", "guard", "while"}
NO_CALL = BEFORE | CONTROL | DECLARATIONS | {"let", "var", "default", "import", "typealias", "break", "continue", "get", "set"}
CHECKS = {"precondition", "preconditionFailure", "assert", "assertionFailure", "fatalError"}


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int
    # Whether a line ends before it, and white space is around it.
    is_first: bool
    is_spaced: bool


class Mutant(NamedTuple):
    """What is done, in words; and the part of the source that gets an alternative (None: it is left out)."""

    words: str
    line: int
    start: int
    end: int
    other: str | None


def end_of_string(text: str, opening: re.Match) -> int:
    """Where a string ends, with the expressions in it."""
    closing, escape, position = opening[2] + opening[1], "\\" + opening[1], opening.end()
    while not text.startswith(closing, position):
        if not text.startswith(escape, position):
            position += 1
            continue
        position += len(escape) + 1
        depth = 1 if text[position - 1] == "(" else 0
        while depth:
            depth += {"(": 1, ")": -1}.get(text[position], 0)
            inner = QUOTE.match(text, position)
            position = end_of_string(text, inner) if inner else position + 1
    return position + len(closing)


def tokens(text: str) -> list[Token]:
    """All but white space and comments."""
    found, end, is_first = [], 0, True
    while end < len(text):
        start, opening, match = end, QUOTE.match(text, end), TOKEN.match(text, end)
        kind, end = ("string", end_of_string(text, opening)) if opening else (match.lastgroup, match.end())
        if kind == "space":
            is_first = is_first or "\n" in text[start:end]
            continue
        is_spaced = text[start - 1 : start].isspace() and text[end : end + 1].isspace()
        found.append(Token(kind, text[start:end], start, end, is_first, is_spaced))
        is_first = False
    return [*found, Token("mark", "", len(text), len(text), True, False)]


class Source:
    """The tokens of a file, with the brackets around each."""

    def __init__(self, text: str):
        self.text, self.tokens, self.mutants = text, tokens(text), []
        count = len(self.tokens)
        # For each token the bracket around it; for each bracket the other one.
        self.frame, self.partner = [-1] * count, [-1] * count
        # The word that a brace belongs to (a closure's has none); in each frame the word that awaits its brace, the statement.
        self.owner, self.pending, self.latest = {}, {}, {}
        self.skipped, self.starts = set(), set()
        self.find_frames()
        self.find_skipped()
        for index in range(count - 1):
            if index not in self.skipped:
                self.visit(index)

    def word(self, index: int) -> str:
        """A word that is no member's name."""
        token = self.tokens[index]
        return token.text if token.kind == "word" and self.tokens[index - 1].text != "." else ""

    def level(self, index: int) -> int | None:
        """How an infix operator binds."""
        token = self.tokens[index]
        if token.kind == "sign" and (token.is_spaced or token.text == "..<"):
            return LEVEL.get(token.text, 0)
        return LEVEL["is"] if self.word(index) in ("is", "as") else None

    def is_start(self, index: int) -> bool:
        """Whether a statement begins here."""
        token, before, frame = self.tokens[index], self.tokens[index - 1], self.frame[index]
        if index == 0 or (index - 1 == frame and before.text == "{"):
            return True
        if frame >= 0 and self.tokens[frame].text != "{":
            return False
        if self.word(index - 1) == "in":
            return frame not in self.pending
        if before.text == ":" and not before.is_spaced:
            return self.word(self.latest.get(frame, 0)) in ("case", "default")
        if self.word(index - 1) in CONDITIONS:
            return False
        goes_on = token.text in (".", "{", ":", "else", "where", "catch") or self.level(index) is not None
        return token.is_first and not goes_on and before.text != "," and self.level(index - 1) is None

    def find_frames(self) -> None:
        stack, pending = [-1], self.pending
        for index, token in enumerate(self.tokens):
            if token.text in (")", "]", "}"):
                opening = stack.pop()
                self.partner[opening], self.partner[index] = index, opening
            frame = self.frame[index] = stack[-1]
            if self.is_start(index):
                self.starts.add(index)
                self.latest[frame] = index
                pending.pop(frame, None)
            if token.text in ("(", "[", "{"):
                if token.text == "{":
                    self.owner[index] = pending.pop(frame, None)
                stack.append(index)
            elif self.word(index) in CONTROL | DECLARATIONS and (frame < 0 or self.tokens[frame].text == "{"):
                # The `else` of a guard belongs to it.
                pending.setdefault(frame, index) if token.text == "else" else pending.update({frame: index})
            if self.word(pending.get(frame, -1)) in DECLARATIONS:
                self.skipped.add(index)

    def find_skipped(self) -> None:
        """What decides nothing while the program runs, or must stay a literal."""
        for index in range(len(self.tokens) - 1):
            word, end, following = self.word(index), index, self.tokens[index + 1].text
            if ((word.startswith(("@", "#")) or word in CHECKS) and following == "(") or word == "deinit":
                end = self.partner[index + 1]
            elif word == "import":
                end = self.until(index)
            elif word == "case":
                end = self.until(index, *((":", "where") if index in self.starts else ("=", "in")))
            self.skipped.update(range(index, end + 1) if end > index else ())

    # Where an expression begins and ends.

    def until(self, index: int, *ends: str) -> int:
        """The first of these tokens in the same brackets, or where they or the statement end."""
        index = max(index, self.partner[index]) + 1
        while not (self.tokens[index].text in (*ends, "", ")", "]", "}") or index in self.starts):
            index = max(index, self.partner[index]) + 1
        return index

    def is_closure(self, index: int) -> bool:
        return self.owner.get(index, 0) is None and not self.tokens[index].is_first

    def right(self, index: int, level: int) -> int:
        """The token after the operand that begins here."""
        while True:
            token, own = self.tokens[index], self.level(index)
            is_end = token.text in ("", ",", ":", ")", "]", "}") or self.word(index) in ("else", "in", "where")
            if is_end or (own is not None and own <= level) or (token.text == "{" and not self.is_closure(index)):
                return index
            index = max(index, self.partner[index]) + 1
            if index in self.starts:
                return index

    def left(self, index: int, level: int) -> int:
        """The first token of the operand that ends before this one."""
        while index not in self.starts:
            token, own = self.tokens[index - 1], self.level(index - 1)
            is_end = token.text in (",", ":", "(", "[", "{") or self.word(index - 1) in BEFORE
            is_body = token.text == "}" and not self.is_closure(self.partner[index - 1])
            if is_end or (own is not None and own < level) or is_body:
                break
            index = self.partner[index - 1] if self.partner[index - 1] >= 0 else index - 1
        return self.bare(index)

    def bare(self, index: int) -> int:
        """Passes what stands before an expression."""
        while self.word(index) in EFFECTS or (self.tokens[index].text in "?!" and self.word(index - 1) == "try"):
            index += 1
        return index

    def slice(self, start: int, end: int) -> str:
        return self.text[self.tokens[start].start : self.tokens[end - 1].end]

    def signs(self, start: int, end: int) -> set[str]:
        """The infix operators outside of brackets."""
        same = (at for at in range(start, end) if self.frame[at] == self.frame[start])
        return {self.tokens[at].text for at in same if self.level(at) is not None}

    def add(self, words: str, place: int, start: int, end: int, other: str | None) -> None:
        """An alternative to the tokens from `start` on, before `end`."""
        if start < end:
            first, last, at = self.tokens[start].start, self.tokens[end - 1].end, self.tokens[place].start
            self.mutants.append((at, first, Mutant(words, self.text.count("\n", 0, at) + 1, first, last, other)))

    # What can be changed.

    def visit(self, index: int) -> None:
        token, word, level = self.tokens[index], self.word(index), self.level(index)
        if index in self.starts:
            self.visit_call(index)
        if token.text in OPPOSITES and level:
            start, end, other = self.left(index, level), self.right(index + 1, level), OPPOSITES[token.text]
            # Texts and lists have no difference.
            around = {self.tokens[index - 1].kind, self.tokens[index + 1].kind, self.tokens[index + 1].text}
            if token.text != "+" or not around & {"string", "["}:
                operands = self.slice(start, index), self.slice(index + 1, end)
                self.add(f"`{token.text}` by `{other}`", index, start, end, f" {other} ".join(operands))
        elif token.text == "!" and not token.is_spaced and self.text[token.start - 1] in " \n([{":
            end = self.right(index + 1, len(LEVELS) + 1)
            self.add("`!` left out", index, index, end, self.slice(index + 1, end))
        elif other := {"true": "false", "false": "true"}.get(word):
            self.add(f"`{word}` by `{other}`", index, index, index + 1, other)
        elif token.kind == "number" and self.tokens[index - 1].text != "." and re.fullmatch(r"0[xbo]\w+|[\d_]+", token.text):
            value = int(token.text.replace("_", ""), 0)
            other = value - 1 if value and len(self.mutants) % 2 else value + 1
            self.add(f"`{token.text}` by `{other}`", index, index, index + 1, str(other))
        elif word in CONDITIONS and self.tokens[index + 1].text != ":":
            self.visit_conditions(index)
        elif word == "return":
            self.visit_result(index + 1, self.frame[index])
        elif token.text == "{" and self.until(index + 1) == self.partner[index]:
            self.visit_result(index + 1, index)

    def visit_conditions(self, index: int) -> None:
        while self.word(index) in CONDITIONS or self.tokens[index].text == ",":
            start, end = self.bare(index + 1), self.until(index, ",", "{", "else")
            signs, first = self.signs(start, end), self.tokens[start].text
            is_plain = first not in ("!", "true") and not signs & {"==", "!="} or signs & {"&&", "||"}
            if is_plain and first not in ("let", "var", "case") and start not in self.skipped:
                self.add("condition negated", start, start, end, f"!({self.slice(start, end)})")
            index = end

    def visit_result(self, start: int, frame: int) -> None:
        """A result of a function or variable of type Bool is negated, an optional one is nil."""
        while frame >= 2 and self.owner[frame] is not None and self.word(self.owner[frame]) in CONTROL:
            frame = self.frame[frame]
        start, end = self.bare(start), self.until(start)
        kind, before, first = self.tokens[frame - 1], self.tokens[frame - 2].text, self.tokens[start].text
        if frame < 2 or self.word(start) in NO_CALL | {"nil", "true", "false"} or first in ("", "}", "!"):
            return
        if kind.text == "Bool" and before in ("->", ":") and not self.signs(start, end):
            self.add("result negated", start, start, end, f"!({self.slice(start, end)})")
        elif kind.text == "?" and not kind.is_spaced:
            self.add("result by nil", start, start, end, "nil")

    def visit_call(self, start: int) -> None:
        """A call whose value is not used is left out."""
        first, frame, end = self.bare(start), self.frame[start], self.until(start)
        if self.tokens[first].kind != "word" or self.word(first) in NO_CALL or self.tokens[first].text[0] in "@#":
            return
        index = first + 1
        while index < end:
            token, before = self.tokens[index], self.tokens[index - 1]
            is_tight = token.start == before.end and token.text in "([?!"
            if not (is_tight or self.is_closure(index) or "." in (token.text, before.text)):
                return
            index = max(index, self.partner[index]) + 1
        name = re.split(r"[({\n]", self.slice(first, end), maxsplit=1)[0].strip()
        makes = name.split(".")[-1] == "init" or name.split(".")[-1][:1].isupper()
        # The only statement between braces may be a value, or must end a function.
        is_alone = frame >= 0 and self.until(frame + 1) == self.partner[frame]
        if is_alone and (owner := self.owner[frame]) is None:
            makes = makes or start == frame + 1
        elif is_alone:
            makes = makes or self.word(owner) == "guard" or "->" in (at.text for at in self.tokens[owner:frame])
        if self.tokens[end - 1].text in (")", "}") and not makes:
            self.add(f"`{name}` left out", start, start, end, None)


def mutants(text: str) -> list[Mutant]:
    """All candidates of a file, in its order."""
    return [mutant for *_, mutant in sorted(Source(text).mutants, key=lambda found: found[:2])]


def put(text: str, chosen: dict[int, Mutant]) -> str:
    """Puts these mutants in, by their numbers."""
    parts = []
    for number, (_, _, start, end, other) in chosen.items():
        active = f"Mutation.active == {number} ? ({other}) : ("
        before, after = (f"if Mutation.active != {number} {{ ", " }") if other is None else (f"({active}", "))")
        # What ends comes before what begins, and of two that begin or end together the longer one is around the other.
        parts += [(start, 1, -end, number, before), (end, 0, -start, -number, after)]
    for at, *_, part in sorted(parts, reverse=True):
        text = text[:at] + part + text[at:]
    return text
