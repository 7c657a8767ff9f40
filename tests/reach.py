"""Which functions of the package are reached from its public names and its command line.

A name that is mentioned in code that is reached is reached: a function or a class where imports say which
one it is, a method wherever an attribute of its name is mentioned and its class is reached. Names that only
annotate count too, so what is found here is a little less than what is never called.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

Place = tuple[str, str]
"""A module, and a definition in it: a function, a class, a constant, or `Class.method`."""

PLAIN = {
    "dataclass", "property", "cached_property", "lru_cache", "cache", "staticmethod", "classmethod",
    "contextmanager", "overload", "runtime_checkable", "setter",
}  # fmt: skip
"""Decorators that do not hand what they decorate to someone else."""


class Reach:
    def __init__(self, modules: dict[str, Path]) -> None:
        self.modules = modules
        self.definitions: dict[Place, ast.AST] = {}
        self.names: dict[str, dict[str, Place]] = {}
        self.methods: dict[str, list[Place]] = defaultdict(list)
        self.found: set[Place] = set()
        self.attributes: set[str] = set()
        self.waiting: list[Place] = []
        code = {module: list(self._read(module, path)) for module, path in modules.items()}
        for module, nodes in code.items():
            for node in nodes:
                self._scan(module, ast.walk(node))

    def _read(self, module: str, path: Path) -> Iterator[ast.AST]:
        """Takes in the definitions of a module; gives the code that runs when it is imported."""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = self.names[module] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {one.asname or one.name: (node.module, one.name) for one in node.names}
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self._define(module, node)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        names[target.id] = (module, target.id)
                        self.definitions.setdefault((module, target.id), node)
            elif not isinstance(node, (ast.Import, ast.ImportFrom)):
                yield node

    def _define(self, module: str, node: ast.FunctionDef | ast.ClassDef) -> None:
        self.names[module][node.name] = (module, node.name)
        self.definitions[(module, node.name)] = node
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef):
                place = (module, f"{node.name}.{method.name}")
                self.definitions[place] = method
                self.methods[method.name].append(place)

    def resolved(self, place: Place) -> Place:
        """Where a name that was imported is defined; of a module, the module and no name."""
        module, name = place
        if place in self.definitions or (found := self.names.get(module, {}).get(name)) in (None, place):
            whole = f"{module}.{name}"
            return (whole, "") if place not in self.definitions and whole in self.modules else place
        assert found is not None
        return self.resolved(found)

    def reach(self, place: Place) -> None:
        place = self.resolved(place)
        if place in self.definitions and place not in self.found:
            self.found.add(place)
            self.waiting.append(place)

    def all(self) -> set[Place]:
        """What is reached from all that was asked for so far."""
        while self.waiting:
            module, name = self.waiting.pop()
            node = self.definitions[(module, name)]
            if isinstance(node, ast.ClassDef):
                self._class(module, node)
            else:
                self._scan(module, ast.walk(node))
        return self.found

    def _class(self, module: str, node: ast.ClassDef) -> None:
        names = self.names[module]
        is_foreign = any(not isinstance(base, ast.Name) or base.id not in names for base in node.bases)
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self._scan(module, ast.walk(part))
        for part in node.body:
            if not isinstance(part, ast.FunctionDef):
                self._scan(module, ast.walk(part))
            elif is_foreign or part.name.startswith(("__", "_repr")) or part.name in self.attributes:
                self.reach((module, f"{node.name}.{part.name}"))

    def _scan(self, module: str, nodes: Iterator[ast.AST]) -> None:
        names = self.names[module]
        for node in nodes:
            match node:
                case ast.Name(id=name) if name in names:
                    self.reach(names[name])
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in names:
                    owner, of = self.resolved(names[name])
                    self.reach((owner, attribute) if not of else (owner, of))
                    self._mention(attribute)
                case ast.Attribute(attr=attribute):
                    self._mention(attribute)
                case ast.Constant(value=str(text)) if text.isidentifier():
                    self._mention(text)

    def _mention(self, attribute: str) -> None:
        if attribute not in self.attributes:
            self.attributes.add(attribute)
            for module, name in self.methods[attribute]:
                if (module, name.partition(".")[0]) in self.found:
                    self.reach((module, name))


def is_handed_on(node: ast.AST) -> bool:
    """Whether a decorator hands a function to someone else, as commands are."""
    calls = getattr(node, "decorator_list", ())
    parts = [call.func if isinstance(call, ast.Call) else call for call in calls]
    return any(ast.unparse(part).rpartition(".")[2] not in PLAIN for part in parts)


def unreached(modules: dict[str, Path]) -> set[str]:
    """The functions, classes and methods that nothing public leads to, each as `module.name`."""
    reach = Reach(modules)
    for (module, name), node in list(reach.definitions.items()):
        if module.startswith("viewkeeper.cli") and is_handed_on(node):
            reach.reach((module, name))
    for name, place in reach.names["viewkeeper"].items():
        reach.reach(("viewkeeper", name))
        module, public = reach.resolved(place)
        for owner, method in list(reach.definitions):
            if owner == module and method.startswith(f"{public}."):
                reach.reach((owner, method))
    found = reach.all()
    return {
        f"{module}.{name}"
        for (module, name), node in reach.definitions.items()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        and (module, name) not in found
        and ("." not in name or (module, name.partition(".")[0]) in found)
    }
