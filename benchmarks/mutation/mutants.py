"""Mutants of a source file: copies that differ from it in one place.

A place is a node of the syntax tree, a change one of those that `_changes` offers for it: another
operator, a shifted comparison, a changed number, a negated condition, a statement less. Text,
annotations, decorators, imports, raised errors and the sizes of blocks stay as they are.
"""

import ast
import random
from dataclasses import dataclass

OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_PAIRS = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("isfinite", "isnan"),
]
NAMES = dict(_PAIRS) | {second: first for first, second in _PAIRS}

_LEFT_OUT = (ast.Raise, ast.Import, ast.ImportFrom, ast.Global, ast.JoinedStr)
_SIZES = {"row_blocks"}
"""Calls whose arguments only tell how much memory a step takes."""
_TYPES = {"annotation", "returns", "decorator_list", "type_params", "bases"}


@dataclass(frozen=True)
class Mutant:
    """One change: its line, that line's text, what was there and what is there now."""

    line: int
    code: str
    before: str
    after: str
    source: str

    @property
    def key(self):
        """What identifies the mutant while other lines of the file change."""
        return self.code, self.before, self.after


def places(source):
    """Return ``(place, change)`` of all mutants of a file's text, as `mutant` takes them."""
    nodes = enumerate(_places(ast.parse(source)))
    return [
        (place, number)
        for place, (parent, field, index) in nodes
        for number in range(len(list(_changes(_get(parent, field, index), parent))))
    ]


def mutant(source, place, number):
    """Return one mutant of a file's text."""
    tree = ast.parse(source)
    parent, field, index = list(_places(tree))[place]
    node = _get(parent, field, index)
    line, before = node.lineno, _shown(node)
    new = list(_changes(node, parent))[number]()
    _set(parent, field, index, new)
    text = ast.unparse(ast.fix_missing_locations(tree))
    return Mutant(line, source.splitlines()[line - 1].strip(), before, _shown(new), text)


def drawn(source, most, seed):
    """Return at most so many mutants of a file's text, drawn by a seed, in the order of lines."""
    found = places(source)
    random.Random(seed).shuffle(found)
    return [mutant(source, *one) for one in sorted(found[:most])]


def _places(node):
    """Yield ``(parent, field, index)`` of the nodes that may change, parents first."""
    for field, value in ast.iter_fields(node):
        if field in _TYPES:
            continue
        children = value if isinstance(value, list) else [value]
        for index, child in enumerate(children):
            if not isinstance(child, ast.AST) or isinstance(child, _LEFT_OUT):
                continue
            if isinstance(child, ast.FunctionDef) and child.name == "__repr__":
                continue
            if isinstance(child, ast.Call) and getattr(child.func, "id", "") in _SIZES:
                continue
            if hasattr(child, "lineno"):
                yield node, field, index if isinstance(value, list) else None
            yield from _places(child)


def _get(parent, field, index):
    value = getattr(parent, field)
    return value if index is None else value[index]


def _set(parent, field, index, new):
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new


def _changes(node, parent):
    """Yield functions, each of which returns what may stand in the place of a node."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield lambda: _with(node, op=OPERATORS[type(node.op)]())
    if isinstance(node, ast.UnaryOp):
        yield lambda: node.operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS[type(node.ops[0])]:
            yield lambda other=other: _with(node, ops=[other()])
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield lambda: _with(node, op=other())
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        yield lambda: ast.Constant(_other_number(node.value))
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield lambda: _with(node, attr=NAMES[node.attr])
    if isinstance(node, ast.Name) and node.id in NAMES and isinstance(parent, ast.Call):
        yield lambda: _with(node, id=NAMES[node.id])
    # A comparison has its opposite among its own changes.
    conditional = isinstance(node, ast.If | ast.IfExp | ast.While)
    if conditional and not isinstance(node.test, ast.Compare | ast.UnaryOp):
        yield lambda: _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Slice):
        for bound in ("lower", "upper"):
            if getattr(node, bound) is not None:
                yield lambda bound=bound: _with(node, **{bound: None})
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield lambda: ast.Return(ast.Constant(None))
    if isinstance(node, ast.Continue):
        yield ast.Break
    if isinstance(node, ast.Break | ast.AugAssign) or _is_call(node) or _stores_in_object(node):
        yield ast.Pass


def _shown(node):
    """Return the text of a node; of a statement with a body, its condition."""
    return ast.unparse(node.test if isinstance(node, ast.If | ast.While) else node)


def _with(node, **fields):
    """Set fields of a node and return it."""
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _other_number(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return 2.0 * value if value else 1.0


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _is_call(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _stores_in_object(node):
    """Return whether a statement changes an object; without it, later lines still have names."""
    return isinstance(node, ast.Assign) and all(
        isinstance(target, ast.Subscript | ast.Attribute) for target in node.targets
    )
