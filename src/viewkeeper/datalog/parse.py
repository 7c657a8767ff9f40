"""From Datalog text to a `Program`, by recursive descent.

    program  = { rule }
    rule     = atom [ ":-" subgoal { ("," | "&") subgoal } ] "."
    subgoal  = ("not" | "!") atom | groupby | atom | term comparison term
    groupby  = "groupby" "(" atom "," "[" [variables] "]" { "," variable "=" function "(" [term] ")" } ")"
    atom     = name "(" argument { "," argument } ")"
    argument = [ name ":" ] term
    term     = product { ("+" | "-") product },  product = factor { ("*" | "/" | "mod") factor }
    factor   = number | string | "true" | "false" | Variable | "-" factor | "(" term ")"

A name before "(" is a predicate, whatever its case; other names begin with a capital or `_` and are
variables. A name in backquotes may hold any letters.
"""

from __future__ import annotations

from collections.abc import Iterable

from viewkeeper.datalog.lex import END, NAME, NUMBER, STRING, SYMBOL, Token, tokens
from viewkeeper.datalog.syntax import (
    AggregateTerm,
    Argument,
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    Constant,
    GroupBy,
    Negation,
    Position,
    Program,
    Subgoal,
    Term,
    Variable,
    fault,
)
from viewkeeper.errors import InvalidDatalog

COMPARISONS = ("=", "!=", "<>", "<=", ">=", "<", ">")
AGGREGATES = ("min", "max", "sum", "count", "avg")


def parse_program(text: str) -> Program:
    """The program that the text writes down. Nothing is known yet of tables or types."""
    return _DatalogParser(text).program()


def with_rules(program: Program, text: str) -> Program:
    """The program with the rules of the text behind its own; one that it has already is not repeated."""
    more = _DatalogParser(text, program.predicates).program()
    return Program(tuple(dict.fromkeys((*program.rules, *more.rules))))


def without_rules(program: Program, text: str) -> Program:
    """The program without the rules of the text, which it must have, written with the same variables."""
    less = _DatalogParser(text, program.predicates).program()
    for rule in less.rules:
        if rule not in program.rules:
            hint = "Write the rule as it was defined, with the same variables."
            raise fault(rule.at, f"the program has no such rule for {rule.head.predicate}.", hint)
    return Program(tuple(rule for rule in program.rules if rule not in less.rules))


class _DatalogParser:
    def __init__(self, text: str, predicates: Iterable[str] = ()) -> None:
        self.tokens = list(tokens(text))
        self.place = 0
        self.spelled = {name.lower(): name for name in predicates}

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def program(self) -> Program:
        rules = []
        while self.token.kind != END:
            rules.append(self.rule())
        return Program(tuple(rules))

    def rule(self) -> Clause:
        at = self.token.at
        head = self.atom("a rule begins with a predicate, such as p(X)")
        body: list[Subgoal] = []
        if self.taken(":-"):
            body.append(self.subgoal())
            while self.taken(",", "&"):
                body.append(self.subgoal())
        if not self.taken("."):
            wanted = "“,” or “.”" if body else "“:-” or “.”"
            raise self.fault(f"expected {wanted}, found {self.token}.")
        return Clause(head, tuple(body), at)

    def subgoal(self) -> Subgoal:
        at = self.token.at
        if self.taken("!") or (self._is_word("not") and not self._follows("(") and self.taken("not")):
            return Negation(self.atom("a negation is of a predicate, such as not p(X)"), at)
        if self._is_word("groupby") and self._follows("("):
            return self.groupby()
        if self.token.kind == NAME and self._follows("("):
            return self.atom("")
        left = self.term()
        if self.token.text not in COMPARISONS:
            hint = f"One of {' '.join(COMPARISONS)}."
            raise self.fault(f"expected a comparison, found {self.token}.", hint)
        operator = self.advance().text
        return Comparison("!=" if operator == "<>" else operator, left, self.term(), at)

    def groupby(self) -> GroupBy:
        at = self.advance().at
        self.expect("(")
        atom = self.atom("groupby begins with the predicate that is grouped")
        self.expect(",")
        self.expect("[")
        keys = []
        while not self.taken("]"):
            keys.append(self.variable())
            if self.token.text != "]":
                self.expect(",")
        aggregates = []
        while self.taken(","):
            aggregates.append(self.aggregate())
        self.expect(")")
        return GroupBy(atom, tuple(keys), tuple(aggregates), at)

    def aggregate(self) -> AggregateTerm:
        target = self.variable()
        self.expect("=")
        function = self.advance()
        if function.text.lower() not in AGGREGATES:
            known = ", ".join(AGGREGATES)
            raise fault(function.at, f"{function} is no aggregate function.", f"One of {known}.")
        self.expect("(")
        argument = None if self.token.text in (")", "*") else self.term()
        if argument is None:
            self.taken("*")
            if function.text.lower() != "count":
                raise fault(function.at, f"{function.text} needs an argument.")
        self.expect(")")
        return AggregateTerm(target, function.text.lower(), argument, target.at)

    def atom(self, wanted: str) -> Atom:
        if self.token.kind != NAME or not self._follows("("):
            raise self.fault(f"{wanted}; found {self.token}.")
        name = self.advance()
        self.expect("(")
        if self.token.text == ")":
            raise self.fault(f"{name.text} has no arguments.", "A predicate has at least one.")
        arguments = [self.argument()]
        while self.taken(","):
            arguments.append(self.argument())
        self.expect(")")
        return Atom(self._spelling(name.text), tuple(arguments), name.at)

    def argument(self) -> Argument:
        at = self.token.at
        if self.token.kind == NAME and self._follows(":"):
            name = self.advance().text.strip("`")
            self.expect(":")
            return Argument(self.term(), name, at)
        return Argument(self.term(), None, at)

    def term(self) -> Term:
        left = self.product()
        while self.token.kind == SYMBOL and self.token.text in ("+", "-"):
            operator = self.advance()
            left = Arithmetic(operator.text, left, self.product(), operator.at)
        return left

    def product(self) -> Term:
        left = self.factor()
        while self.token.text in ("*", "/") or self._is_word("mod"):
            operator = self.advance()
            left = Arithmetic(operator.text.lower(), left, self.factor(), operator.at)
        return left

    def factor(self) -> Term:
        token = self.advance()
        if token.text == "(" and token.kind == SYMBOL:
            inner = self.term()
            self.expect(")")
            return inner
        if token.text == "-" and token.kind == SYMBOL:
            return _negative(self.factor(), token.at)
        if token.kind == NUMBER:
            return Constant(token.text, is_number=True, at=token.at)
        if token.kind == STRING:
            quote = token.text[0]
            return Constant(token.text[1:-1].replace(quote * 2, quote), at=token.at)
        if token.kind == NAME and token.text in ("true", "false"):
            return Constant(token.text == "true", at=token.at)
        if token.kind == NAME and (token.text[0] == "_" or token.text[0].isupper()):
            return Variable(token.text, token.at)
        self.place -= 1 if token.kind != END else 0
        raise self._no_term(token)

    def variable(self) -> Variable:
        term = self.factor()
        if not isinstance(term, Variable) or term.is_anonymous:
            raise fault(term.at, "expected a variable here.", "Variables begin with a capital.")
        return term

    def _no_term(self, token: Token) -> InvalidDatalog:
        hint = ""
        if token.kind == NAME:
            word = token.text.strip("`")
            hint = f"A string is written '{word}', a variable {word.capitalize()}."
        return fault(token.at, f"expected a variable or a constant, found {token}.", hint)

    def _spelling(self, name: str) -> str:
        """Predicates are compared without regard to case; the first spelling stands for all."""
        plain = name.strip("`")
        return self.spelled.setdefault(plain.lower(), plain)

    def _is_word(self, word: str) -> bool:
        return self.token.kind == NAME and self.token.text.lower() == word

    def _follows(self, symbol: str) -> bool:
        following = self.tokens[min(self.place + 1, len(self.tokens) - 1)]
        return following.kind == SYMBOL and following.text == symbol

    def advance(self) -> Token:
        token = self.token
        self.place = min(self.place + 1, len(self.tokens) - 1)
        return token

    def taken(self, *texts: str) -> bool:
        """Moves on when the token is one of these symbols or words."""
        if self.token.kind in (SYMBOL, NAME) and self.token.text.lower() in texts:
            self.advance()
            return True
        return False

    def expect(self, symbol: str) -> None:
        if not self.taken(symbol):
            raise self.fault(f"expected “{symbol}”, found {self.token}.")

    def fault(self, what: str, hint: str = "") -> InvalidDatalog:
        return fault(self.token.at, what, hint)


def _negative(term: Term, at: Position) -> Term:
    if isinstance(term, Constant) and term.is_number:
        return Constant(f"-{term.value}", is_number=True, at=at)
    return Arithmetic("-", Constant("0", is_number=True, at=at), term, at)
