"""Plants mutants in source files, each behind a condition on its number.

A mutant is a row of `cargo mutants --list --json`. A file is rewritten with all its mutants at
once; `crate::mutants::is(NUMBER)` chooses one at run time. An operator keeps its operands:
where another precedence would regroup an expression, the planted mutant does not.

Comments mark the text of each mutant and the place of each group, so that an error of the compiler
can be traced to the mutants that cause it.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_rust.language()))
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}
# What stands around an expression decides whether it is computed at run time.
CONSTANT_PLACES = {"const_item", "static_item", "array_type", "const_block", "enum_variant"}
MARK = re.compile(rb"/\*([<>])([mg])((?:\d+ ?)+)\*/")


@dataclass
class Mutant:
    number: int
    name: str
    file: str
    genre: str
    replacement: str
    returns: str
    span: dict
    # Why there is no verdict by tests: `unviable` or a reason why it is not judged.
    dropped: str = ""


@dataclass
class Plant:
    """A range of the source that is replaced. An empty range is an insertion."""

    start: int
    end: int
    render: Callable[["Text"], str]
    mutants: list[Mutant] = field(default_factory=list)


class Unplantable(Exception):
    """There is no form for a mutant; the message says why."""


def condition(mutant: Mutant) -> str:
    return f"crate::mutants::is({mutant.number})"


def marked(mutant: Mutant, text: str) -> str:
    return f"/*<m{mutant.number}*/{text}/*>m{mutant.number}*/"


def choose(mutants: list[Mutant], variant: Callable[[Mutant], str], otherwise: str) -> str:
    """An `if` chain with the text of each mutant, and the original text at its end."""
    branches = (f"if {condition(m)} {{ {marked(m, variant(m))} }} else " for m in mutants)
    return "".join(branches) + f"{{ {otherwise} }}"


class Text:
    """A source file, in which the text of every range comes with the plants inside it."""

    def __init__(self, source: bytes):
        self.source = source
        self.root = PARSER.parse(source).root_node
        self.line_starts = [0] + [i + 1 for i, byte in enumerate(source) if byte == 10]
        self.plants: list[Plant] = []
        # The plants that compute what stands after `..`, by the start of the struct.
        self.bases: dict[int, Plant] = {}

    def offset(self, place: dict) -> int:
        start = self.line_starts[place["line"] - 1]
        line = self.source[start:].split(b"\n", 1)[0].decode()
        return start + len(line[: place["column"] - 1].encode())

    def of(self, node: Node) -> str:
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        parts, position = [], start
        for plant in self.plants:
            if plant.start < position or plant.end > end:
                continue
            parts.append(self.source[position : plant.start].decode())
            parts.append(self.rendered(plant))
            position = plant.end
        return "".join([*parts, self.source[position:end].decode()])

    def rendered(self, plant: Plant) -> str:
        self.plants, kept = [p for p in self.plants if is_inside(p, plant)], self.plants
        text = plant.render(self)
        self.plants = kept
        numbers = " ".join(str(mutant.number) for mutant in plant.mutants)
        return f"/*<g{numbers}*/{text}/*>g{numbers}*/"


def is_inside(inner: Plant, outer: Plant) -> bool:
    return inner is not outer and outer.start <= inner.start and inner.end <= outer.end


def plant_file(source: bytes, mutants: list[Mutant]) -> bytes:
    """Returns the source with every mutant that is not dropped. Drops those without a form."""
    text = Text(source)
    groups: dict[tuple, list[Mutant]] = defaultdict(list)
    nodes: dict[tuple, Node] = {}
    for mutant in mutants:
        if mutant.dropped:
            continue
        try:
            node = find_node(text, mutant)
            key = (node.start_byte, node.end_byte, node.type)
            groups[key].append(mutant)
            nodes[key] = node
        except Unplantable as reason:
            mutant.dropped = str(reason)
    for key, group in groups.items():
        try:
            text.plants += FORMS[nodes[key].type](text, nodes[key], group)
        except Unplantable as reason:
            for mutant in group:
                mutant.dropped = str(reason)
    # The outermost first; an insertion stands before what begins at its place.
    text.plants.sort(key=lambda plant: (plant.start, plant.end > plant.start, -plant.end))
    return text.between(0, len(source)).encode()


def find_node(text: Text, mutant: Mutant) -> Node:
    """Returns the node that a mutant changes: an operator's expression, an arm, a body, a field."""
    start = text.offset(mutant.span["start"])
    node = text.root.descendant_for_byte_range(start, start + 1)
    wanted = {
        "FnValue": {"block"},
        "BinaryOperator": {"binary_expression", "compound_assignment_expr", "let_chain"},
        "UnaryOperator": {"unary_expression"},
        "MatchArm": {"match_arm"},
        "MatchArmGuard": {"match_arm"},
        "StructField": {"field_initializer", "shorthand_field_initializer"},
    }.get(mutant.genre, set())
    while node and not (node.type in wanted and begins_at(node, mutant, start)):
        node = node.parent
    if node is None:
        raise Unplantable("its place is not understood")
    if is_constant(node):
        raise Unplantable("a constant")
    if is_in_let_chain(node, mutant):
        # The compiler takes no `||` beside `let`.
        raise Unplantable("unviable")
    return node


def begins_at(node: Node, mutant: Mutant, start: int) -> bool:
    """Whether it is the node of a mutant, and not one around a macro in which the mutant stands."""
    match mutant.genre:
        case "FnValue":
            return node.parent.type == "function_item" and node.start_byte < start
        case "BinaryOperator":
            return any(child.start_byte == start for child in node.children)
        case "MatchArmGuard":
            guard = node.child_by_field_name("pattern").child_by_field_name("condition")
            return guard is not None and guard.start_byte == start
        case _:
            return node.start_byte == start


def is_constant(node: Node) -> bool:
    while node.parent and node.type != "function_item":
        length = node.parent.child_by_field_name("length")
        if node.type in CONSTANT_PLACES or (length and length == node):
            return True
        node = node.parent
    return node.type != "function_item"


def is_in_let_chain(node: Node, mutant: Mutant) -> bool:
    while mutant.replacement == "||" and node.type == "binary_expression":
        node = node.parent
    return node.type == "let_chain"


def plant_body(text: Text, body: Node, mutants: list[Mutant]) -> list[Plant]:
    if "impl " in mutants[0].returns:
        return [plant_hidden_type(body, mutants)]

    def render(_: Text) -> str:
        returns = (f"if {condition(m)} {{ return {marked(m, m.replacement)}; }}" for m in mutants)
        return " ".join(["", *returns])

    return [Plant(body.start_byte + 1, body.start_byte + 1, render, mutants)]


def plant_hidden_type(body: Node, mutants: list[Mutant]) -> Plant:
    """A function with a hidden type returns one type: an `Either` of the iterators."""
    if not re.match(r"-> impl (DoubleEnded|ExactSize)?Iterator", mutants[0].returns):
        raise Unplantable("a function returns one hidden type")
    if has_early_return(body):
        raise Unplantable("a function with a hidden type returns early")

    def either(depth: int, inner: str) -> str:
        return "crate::mutants::Either::Right(" * depth + inner + ")" * depth

    def render(text: Text) -> str:
        returns = ""
        for depth, mutant in enumerate(mutants):
            replacement = f"crate::mutants::Either::Left({marked(mutant, mutant.replacement)})"
            returns += f"if {condition(mutant)} {{ return {either(depth, replacement)}; }} "
        original = text.between(body.start_byte, body.end_byte)
        return f"{{ {returns}{either(len(mutants), original)} }}"

    return Plant(body.start_byte, body.end_byte, render, mutants)


def has_early_return(node: Node) -> bool:
    if node.type in {"closure_expression", "function_item", "async_block"}:
        return False
    if node.type in {"return_expression", "try_expression"}:
        return True
    return any(has_early_return(child) for child in node.children)


def plant_binary(text: Text, node: Node, mutants: list[Mutant]) -> list[Plant]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator").text.decode()

    def render(text: Text) -> str:
        if operator in {"&&", "||"}:
            # Either operator answers by its left side, or by its right one.
            (mutant,) = mutants
            goes_on = "!=" if operator == "&&" else "=="
            test = f"mutant_left {goes_on} {condition(mutant)}"
            chosen = f"if {test} {{ {text.of(right)} }} else {{ mutant_left }}"
            return f"({{ let mutant_left: bool = {text.of(left)}; {chosen} }})"
        borrow, value = ("&", "*") if operator in COMPARISONS else ("", "")

        def variant(by: str) -> str:
            return f"{value}mutant_left {by} {value}mutant_right"

        chosen = choose(mutants, lambda m: variant(m.replacement), variant(operator))
        sides = f"{borrow}({text.of(left)}), {borrow}({text.of(right)})"
        return f"(match ({sides}) {{ (mutant_left, mutant_right) => {chosen} }})"

    return [Plant(node.start_byte, node.end_byte, render, mutants)]


def plant_assignment(text: Text, node: Node, mutants: list[Mutant]) -> list[Plant]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator").text.decode()

    def render(text: Text) -> str:
        def variant(by: str) -> str:
            return f"{text.of(left)} {by} mutant_right"

        chosen = choose(mutants, lambda m: variant(m.replacement), variant(operator))
        return f"(match {text.of(right)} {{ mutant_right => {chosen} }})"

    return [Plant(node.start_byte, node.end_byte, render, mutants)]


def plant_unary(text: Text, node: Node, mutants: list[Mutant]) -> list[Plant]:
    operator, operand = node.children[0].text.decode(), node.children[-1]

    def render(text: Text) -> str:
        chosen = choose(mutants, lambda _: "mutant_operand", f"{operator}mutant_operand")
        return f"(match {text.of(operand)} {{ mutant_operand => {chosen} }})"

    return [Plant(node.start_byte, node.end_byte, render, mutants)]


def plant_arm(text: Text, arm: Node, mutants: list[Mutant]) -> list[Plant]:
    """An arm that is deleted has a guard that never holds. Guards come as `true` or `false`."""
    pattern = arm.child_by_field_name("pattern")
    guard = pattern.child_by_field_name("condition")
    if guard is not None and guard.type in {"let_condition", "let_chain"}:
        raise Unplantable("a guard with let")
    always = [condition(m) for m in mutants if m.replacement == "true"]
    never = [f"!{condition(m)}" for m in mutants if m.replacement != "true"]

    def render(text: Text) -> str:
        if guard is None:
            return f" if {' && '.join(never)}"
        return f"({' || '.join([*always, ' && '.join([*never, f'({text.of(guard)})'])])})"

    start = guard.start_byte if guard else pattern.end_byte
    return [Plant(start, guard.end_byte if guard else start, render, mutants)]


def plant_field(text: Text, node: Node, mutants: list[Mutant]) -> list[Plant]:
    """A field that is deleted comes from the struct after `..`, computed once if it is no place."""
    fields = node.parent
    base = next(n for n in fields.children if n.type == "base_field_initializer").named_children[0]
    name = (node.child_by_field_name("field") or node.named_children[0]).text.decode()
    value = node.child_by_field_name("value") or node.named_children[0]
    is_place = is_place_expression(base)
    origin = f"({base.text.decode()})" if is_place else "mutant_base"

    def render(text: Text) -> str:
        return f"{name}: " + choose(mutants, lambda _: f"{origin}.{name}", text.of(value))

    struct = fields.parent
    plants = [Plant(node.start_byte, node.end_byte, render, mutants)]
    if not is_place and struct.start_byte not in text.bases:
        text.bases[struct.start_byte] = plant_base(struct, base)
        plants.append(text.bases[struct.start_byte])
    if not is_place:
        text.bases[struct.start_byte].mutants += mutants
    return plants


def is_place_expression(node: Node) -> bool:
    if node.type == "unary_expression" and node.children[0].type == "*":
        node = node.children[-1]
    return node.type in {"identifier", "self", "field_expression"}


def plant_base(struct: Node, base: Node) -> Plant:
    kind = struct.child_by_field_name("name").text.decode()

    def render(text: Text) -> str:
        made = f"let mutant_base: {kind} = {text.of(base)}; mutant_base"
        fields = text.between(struct.start_byte, base.start_byte) + "mutant_base }"
        return f"(match {{ {made} }} {{ mutant_base => {fields} }})"

    return Plant(struct.start_byte, struct.end_byte, render)


FORMS = {
    "block": plant_body,
    "binary_expression": plant_binary,
    "compound_assignment_expr": plant_assignment,
    "unary_expression": plant_unary,
    "match_arm": plant_arm,
    "field_initializer": plant_field,
    "shorthand_field_initializer": plant_field,
}


def blame(planted: bytes, start: int, end: int) -> tuple[str, list[int]]:
    """Returns the mutants at a range of planted text: `m` their own text, `g` their place."""
    opened: list[tuple[str, list[int], int]] = []
    best: tuple[str, list[int]] = ("", [])
    best_key = None
    for mark in MARK.finditer(planted):
        kind, numbers = mark[2].decode(), [int(n) for n in mark[3].split()]
        if mark[1] == b"<":
            opened.append((kind, numbers, mark.end()))
            continue
        _, _, begun = opened.pop()
        if begun <= start and end <= mark.start():
            key = (kind != "m", mark.start() - begun)
            if best_key is None or key < best_key:
                best, best_key = (kind, numbers), key
    return best


def find_deleted_arms(planted: bytes, start: int, end: int) -> list[int]:
    """Returns the mutants that delete arms of the match over the value at a range."""
    node = climb(planted, start, end, "match_expression")
    arms = node.child_by_field_name("body").named_children if node else []
    patterns = [arm.child_by_field_name("pattern") for arm in arms if arm.type == "match_arm"]
    text = b" ".join(pattern.text for pattern in patterns)
    return [int(number) for number in re.findall(rb"!crate::mutants::is\((\d+)\)", text)]


def find_hidden_types(planted: bytes, start: int, end: int) -> list[int]:
    """Returns the mutants in a hidden type that does not fit: all but the first, or that one."""
    node = climb(planted, start, end, "function_item")
    found = re.findall(rb"Either::Left\(/\*<m(\d+)", node.text if node else b"")
    return [int(number) for number in found[1:] or found]


def climb(planted: bytes, start: int, end: int, kind: str) -> Node | None:
    node = PARSER.parse(planted).root_node.descendant_for_byte_range(start, end)
    while node and node.type != kind:
        node = node.parent
    return node
