#!/usr/bin/env python3
"""No two headers define a class of one name in namespace hotloop: the linker would keep one set of its inline functions for both.

  class_names.py TREE | --self-test
"""
import collections
import pathlib
import re
import sys

# sim/core/env_rtc.h stands for sim/core/env.h where kernels are compiled at run time
STANDS_FOR = {"sim/core/env_rtc.h"}
DEFINITION = re.compile(r"^(?:template <[^\n]*>\n)?(?:class|struct|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{", re.M)
UNNAMED = re.compile(r"^namespace \{.*?^\}  // namespace$", re.M | re.S)


def twice(texts):
    """texts: {name of a header: its text}. Lines about names that more than one of them defines."""
    where = collections.defaultdict(list)
    for name, text in sorted(texts.items()):
        for found in set(DEFINITION.findall(UNNAMED.sub("", text))):
            where[found].append(name)
    return [f"{found}: defined in {' and '.join(names)}" for found, names in sorted(where.items()) if len(names) > 1]


def self_test():
    one = "namespace hotloop {\nclass Worlds final : public Source {\n};\n}\n"
    assert twice({"a.h": one}) == []
    assert twice({"a.h": one, "b.h": "namespace hotloop {\nstruct Worlds {\n};\n}\n"}) == ["Worlds: defined in a.h and b.h"]
    assert twice({"a.h": one, "b.h": "namespace {\nstruct Worlds {\n};\n}  // namespace\n"}) == []
    assert twice({"a.h": one, "b.h": "class Worlds;\n"}) == []


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    tree = pathlib.Path(sys.argv[1])
    texts = {}
    for folder in ("sim", "data", "train", "viz", "app", "bench"):
        for path in (tree / folder).rglob("*.h"):
            name = path.relative_to(tree).as_posix()
            if name not in STANDS_FOR:
                texts[name] = path.read_text()
    lines = twice(texts)
    print("\n".join(lines) or f"{len(texts)} headers, no class name twice")
    sys.exit(1 if lines or not texts else 0)


main()
