r"""One form for what Spark knows under several names or forms, or that would be written back wrongly.

every(x)                                     → bool_and(x)
percentile_cont(p) WITHIN GROUP (ORDER BY x) → percentile(x, p)
listagg(x)                                   → listagg(x, '')
r'\d'                                        → '\\d'
'a' 'b'                                      → 'ab'
NOT (x IN (Q) OR c)                          → x NOT IN (Q) AND NOT c
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.sql.resolve import is_in_query

_SYNONYMS: dict[str, type[exp.Expr]] = {
    "every": exp.LogicalAnd,
    "some": exp.LogicalOr,
    "any": exp.LogicalOr,
    "std": exp.Stddev,
    "mean": exp.Avg,
}


def canonical(query: exp.Query) -> exp.Query:
    changed = query.transform(_canonical).transform(_inwards)
    assert isinstance(changed, exp.Query)
    return changed


def _canonical(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Anonymous() if node.name.lower() in _SYNONYMS and len(node.expressions) == 1:
            return _SYNONYMS[node.name.lower()](this=node.expressions[0])
        case exp.Any(this=exp.Paren()) if not isinstance(node.parent, exp.Binary):
            return exp.LogicalOr(this=node.this.this)
        case exp.WithinGroup(this=exp.PercentileCont()):
            return _percentile(node)
        case exp.GroupConcat() if node.args.get("separator") is None:
            return exp.GroupConcat(this=node.this, separator=exp.Literal.string(""))
        case exp.RawString():
            return exp.Literal.string(node.name)
        case exp.Concat() if not node.args.get("safe") and all(map(_is_text, node.expressions)):
            return exp.Literal.string("".join(part.name for part in node.expressions))
        case exp.Exists() if not isinstance(node.this, exp.Query):
            return exp.Anonymous(this="exists", expressions=[node.this, node.expression])
        case exp.Collate() if isinstance(node.expression, exp.Literal):
            return exp.Anonymous(this="collate", expressions=[node.this, node.expression])
        case _:
            return node


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.RawString) or (isinstance(node, exp.Literal) and node.is_string)


def _inwards(node: exp.Expr) -> exp.Expr:
    """NOT moved inwards, as Spark does before it looks for NOT IN."""
    has_query = isinstance(node, exp.Not) and any(map(is_in_query, node.find_all(exp.In)))
    return exp.paren(_opposite(node.this)) if has_query else node


def _opposite(expr: exp.Expr) -> exp.Expr:
    """NOT of an expression, with NOT at what is neither AND, OR nor NOT."""
    match expr.unnest():
        case exp.Not(this=inner):
            positive: exp.Expr = inner.transform(_inwards)
            return positive
        case exp.And(left=left, right=right):
            return exp.Or(this=exp.paren(_opposite(left)), expression=exp.paren(_opposite(right)))
        case exp.Or(left=left, right=right):
            return exp.And(this=exp.paren(_opposite(left)), expression=exp.paren(_opposite(right)))
        case other:
            return exp.Not(this=exp.paren(other.transform(_inwards)))


def _percentile(node: exp.WithinGroup) -> exp.Expr:
    """Spark's percentile interpolates as PERCENTILE_CONT does; descending order has no such form."""
    order = node.expression.expressions
    if len(order) != 1 or order[0].args.get("desc"):
        return node
    return exp.Quantile(this=order[0].this, quantile=node.this.this)
