# SPDX-License-Identifier: Apache-2.0
"""Branch coverage of Jinja templates: a counting call is put at the start of every branch of the
syntax tree (each if, elif and else, else also where it is not written; each loop and its else;
both sides of conditional expressions; each macro), so the template's text stays as it is.
"""

from jinja2 import nodes

HIT = "coverage_hit_"
TEST = "coverage_test_"


class Coverage:
    def __init__(self, environment, source):
        self.branches = []  # (line, what)
        self.hits = set()
        tree = environment.parse(source)
        self._visit(tree)
        environment.globals[HIT] = self._hit
        environment.globals[TEST] = self._test
        self.template = environment.from_string(tree)

    def _new_branch(self, node, what):
        self.branches.append((node.lineno, what))
        return len(self.branches) - 1

    def _hit(self, index):
        self.hits.add(index)
        return ""

    def _test(self, index, value):
        self.hits.add(index if value else index + 1)
        return value

    def _marker(self, node, what):
        index = nodes.Const(self._new_branch(node, what), lineno=node.lineno)
        name = nodes.Name(HIT, "load", lineno=node.lineno)
        hit = nodes.Call(name, [index], [], None, None, lineno=node.lineno)
        return nodes.Output([hit], lineno=node.lineno)

    def _visit(self, node, is_elif=False):
        elifs = node.elif_ if isinstance(node, nodes.If) else []
        for child in list(node.iter_child_nodes()):
            self._visit(child, is_elif=any(child is elif_ for elif_ in elifs))
        if isinstance(node, nodes.If):
            node.body.insert(0, self._marker(node, "elif" if is_elif else "if"))
            if not is_elif:  # the last else belongs to the first if
                node.else_.insert(0, self._marker(node, "else"))
        elif isinstance(node, nodes.For):
            node.body.insert(0, self._marker(node, "for"))
            if node.else_:
                node.else_.insert(0, self._marker(node, "for, else"))
        elif isinstance(node, nodes.Macro):
            node.body.insert(0, self._marker(node, f"macro {node.name}"))
        elif isinstance(node, nodes.CondExpr):
            index = self._new_branch(node, "inline if")
            self._new_branch(node, "inline else")
            name = nodes.Name(TEST, "load", lineno=node.lineno)
            arguments = [nodes.Const(index, lineno=node.lineno), node.test]
            node.test = nodes.Call(name, arguments, [], None, None, lineno=node.lineno)

    def missing(self):
        return [branch for index, branch in enumerate(self.branches) if index not in self.hits]
