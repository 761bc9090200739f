# Written by ralph for one run of a gate: it notes which lines of the changed files are executed.
# Python imports it by its name when it starts. It must never change what a program does.
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))


class Recorder:
    def __init__(self):
        with open(os.path.join(HERE, "files"), encoding="utf-8") as f:
            root, *names = f.read().splitlines()
        self.root = os.path.realpath(root)
        self.files = {os.path.normpath(os.path.join(self.root, n)): n for n in names}
        self.hits = {n: set() for n in names}
        self.loaded = set()
        self.ran = set()
        self.known = {}
        self.lost = False
        self.check = None
        self.dumped = False

    def name(self, filename):
        """The changed file that code is from; None if it is from another one."""
        try:
            return self.known[filename]
        except KeyError:
            pass
        name = None
        if filename[:1] != "<":
            try:
                real = os.path.realpath(filename)
                name = self.files.get(real)
                if name is not None:
                    self.loaded.add(name)
                if real.startswith(self.root + os.sep):
                    self.ran.add(os.path.relpath(real, self.root))
            except (OSError, ValueError):
                pass
        self.known[filename] = name
        return name

    def monitor(self):
        mon = sys.monitoring
        tool = next(t for t in (4, 3, 1, 2, 0) if mon.get_tool(t) is None)
        mon.use_tool_id(tool, "ralph")
        events = mon.events

        def start(code, offset):
            if self.name(code.co_filename) is not None:
                mon.set_local_events(tool, code, events.LINE)
            return mon.DISABLE

        def line(code, number):
            name = self.name(code.co_filename)
            if name is not None:
                self.hits[name].add(number)
            return mon.DISABLE

        mon.register_callback(tool, events.PY_START, start)
        mon.register_callback(tool, events.LINE, line)
        mon.set_events(tool, events.PY_START)

    def trace(self):
        import threading

        def call(frame, event, arg):
            name = self.name(frame.f_code.co_filename)
            if name is None:
                return None
            hits = self.hits[name]

            def local(frame, event, arg):
                if event == "line":
                    hits.add(frame.f_lineno)
                return local

            return local

        sys.settrace(call)
        threading.settrace(call)
        self.check = lambda: sys.gettrace() is not call

    def forked(self):
        self.dumped = False

    def dump(self):
        """Write what is known. Another tool that traces lines may have taken the place of this one: then nothing is."""
        if self.dumped:
            return
        self.dumped = True
        if self.check is not None and self.check():
            self.lost = True
        out = ["lost\n"] if self.lost else []
        out += ["ran\t%s\n" % n for n in self.ran]
        if self.ran and not self.lost:
            copied = self.copies()
            for path, name in self.files.items():
                if name in self.loaded or name not in copied:
                    lines = executable(path)
                    if lines is not None:
                        kind = "loaded" if name in self.loaded else "missing"
                        out.append("%s\t%s\t%s\t%s\n" % (kind, name, join(lines), join(self.hits[name])))
        if not out:
            return
        at = os.path.join(HERE, "python-%d-%s" % (os.getpid(), os.urandom(8).hex()))
        with open(at + ".part", "w", encoding="utf-8", errors="surrogateescape") as f:
            f.writelines(out)
        os.rename(at + ".part", at)

    def copies(self):
        """The changed files of which a copy elsewhere may have been loaded, as after an installation."""
        tail = lambda path: tuple(path.split("/")[-2:])
        tails = set()
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and not os.path.realpath(file).startswith(self.root + os.sep):
                tails.add(tail(file.replace(os.sep, "/")))
        return {n for p, n in self.files.items() if tail(p.replace(os.sep, "/")) in tails}


def join(lines):
    return ",".join(str(n) for n in sorted(lines))


def executable(path):
    """The lines of a file that can be executed, as the compiler has them; None if it is not Python."""
    import ast
    import dis

    try:
        with open(path, "rb") as f:
            source = f.read()
        tree = ast.parse(source, path)
        code = compile(source, path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return None
    left = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            name = getattr(node.test, "id", getattr(node.test, "attr", None))
            if name == "TYPE_CHECKING":
                for inner in node.body:
                    left.update(span(inner))
        elif isinstance(node, ast.Expr) and type(node.value).__name__ in ("Constant", "Str", "Ellipsis"):
            left.update(span(node))  # a text, or "..."
    lines, codes = set(), [code]
    while codes:
        one = codes.pop()
        codes += [c for c in one.co_consts if hasattr(c, "co_code")]
        lines.update(n for _, n in dis.findlinestarts(one) if n)
    return lines - left


def span(node):
    return range(node.lineno, getattr(node, "end_lineno", node.lineno) + 1)


def next_sitecustomize():
    """Import the sitecustomize that this one took the place of."""
    sys.path[:] = [p for p in sys.path if os.path.realpath(p) != HERE]
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def begin():
    import atexit

    recorder = Recorder()
    if not recorder.files:
        return

    def dump():
        try:
            recorder.dump()
        except Exception:
            pass

    exit = os._exit

    def _exit(status):
        dump()
        exit(status)

    os._exit = _exit
    atexit.register(dump)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.forked)
    if hasattr(sys, "monitoring"):
        recorder.monitor()
    else:
        recorder.trace()


sys.ralph_coverage = True
try:
    begin()
except Exception:
    pass
if __name__ == "sitecustomize":
    next_sitecustomize()
