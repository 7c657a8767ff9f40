"""One form for functions that Spark knows under several names or that would be written back wrongly.

every(x)                                     → bool_and(x)
percentile_cont(p) WITHIN GROUP (ORDER BY x) → percentile(x, p)
listagg(x)                                   → listagg(x, '')
"""

from __future__ import annotations

from sqlglot import exp

_SYNONYMS: dict[str, type[exp.Expr]] = {
    "every": exp.LogicalAnd,
    "some": exp.LogicalOr,
    "any": exp.LogicalOr,
    "std": exp.Stddev,
}


def canonical(query: exp.Query) -> exp.Query:
    changed = query.transform(_canonical)
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
        case _:
            return node


def _percentile(node: exp.WithinGroup) -> exp.Expr:
    """Spark's percentile interpolates as PERCENTILE_CONT does; descending order has no such form."""
    order = node.expression.expressions
    if len(order) != 1 or order[0].args.get("desc"):
        return node
    return exp.Quantile(this=order[0].this, quantile=node.this.this)
