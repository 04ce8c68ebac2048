#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes a C++ program with a lot of debug information, to ask for its symbols.

    symbols.py DIR UNITS

leaves DIR/program, made of UNITS generated sources (about 4 MB of DWARF 5 each): templates in
namespaces, lambdas, functions of anonymous namespaces, containers of the standard library, all
inlined by -O1. What is there already is not compiled again, so that 40 units cost some minutes
once. Prints how many bytes its debug sections have.
"""
import concurrent.futures
import pathlib
import subprocess
import sys

CLASSES = 12
FLAGS = ["g++", "-std=c++17", "-g", "-gdwarf-5", "-O1"]
HEADERS = "algorithm functional map memory numeric sstream string unordered_map variant vector"

CLASS = """\
struct item{c} {{ std::string name; int price; double tax[{tax}]; virtual ~item{c}() {{}}
  virtual int cost(int n) const {{ return price * n + {c}; }} }};
template <typename T, int N> struct shelf{c} {{
  std::vector<T> rows; std::map<std::string, std::shared_ptr<T>> by;
  static inline int clip(int x) {{
    if (x < N) return N;
    return x > {most} ? {most} : x; }}
  void put(const std::string &s, int p) {{
    auto t = std::make_shared<T>(); t->name = s + "{c}"; t->price = clip(p);
    rows.push_back(*t); by[s] = std::move(t); }}
  int sum() const {{ int s = N;
    for (auto &kv : by) s += kv.second->cost(clip(s));
    return std::accumulate(rows.begin(), rows.end(), s, [](int a, const T &b) {{
      return a + b.cost({c}); }}); }}
  void order() {{ std::sort(rows.begin(), rows.end(), [](const T &a, const T &b) {{
    return a.price != b.price ? a.price < b.price : a.name < b.name; }}); }}
}};
namespace {{ int hidden{c}(int x) {{
  shelf{c}<item{c}, {n}> s; shelf{c}<item{c}, {m}> u;
  s.put("a", x); u.put("b", x + 1); s.order(); u.order();
  std::function<int(int)> f = [&](int q) {{ return q + s.sum(); }};
  return f(u.sum()) + shelf{c}<item{c}, 3>::clip(x); }} }}
"""


def unit(k):
    text = "".join(f"#include <{name}>\n" for name in HEADERS.split())
    text += f"namespace shop{k} {{\n"
    for c in range(CLASSES):
        text += CLASS.format(c=c, tax=c % 7 + 1, most=100 + c, n=c % 13, m=c % 13 + 20)
    text += f"}}\nint entry{k}(int x);\nint entry{k}(int x) {{ int t = 0;\n"
    text += "".join(f"  t += shop{k}::hidden{c}(x + {c});\n" for c in range(CLASSES))
    return text + "  return t; }\n"


def main_unit(units):
    text = "".join(f"int entry{k}(int);\n" for k in range(units))
    calls = "".join(f"  t += entry{k}(argc);\n" for k in range(units))
    return text + f"int main(int argc, char **) {{ int t = 0;\n{calls}  return t & 1; }}\n"


def compile_one(source, text):
    """The object file; compiled only when the source says something new."""
    made = source.with_suffix(".o")
    if not made.exists() or not source.exists() or source.read_text() != text:
        made.unlink(missing_ok=True)
        source.write_text(text)
        part = source.with_suffix(".part")
        subprocess.run([*FLAGS, "-c", source, "-o", part], check=True)
        part.rename(made)
    return made


def main():
    folder, units = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    work = [(folder / f"unit{k}.cc", unit(k)) for k in range(units)]
    work.append((folder / f"main{units}.cc", main_unit(units)))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda w: compile_one(*w), work))
    program = folder / "program"
    linked = folder / "linked"
    newest = max(o.stat().st_mtime for o in objects)
    if (not program.exists() or program.stat().st_mtime < newest
            or linked.read_text() != str(units)):
        subprocess.run([*FLAGS, "-Wl,--build-id", *objects, "-o", program], check=True)
        linked.write_text(str(units))
    sizes = subprocess.run(["size", "-A", program], check=True, text=True,
                           capture_output=True).stdout.split("\n")
    print(sum(int(line.split()[1]) for line in sizes if line.startswith(".debug_")))


main()
