# Written by ralph for one run of a gate. A gate that sets PYTHONPATH hides sitecustomize.py; this one is in the folder of the user's
# packages, and begins what that would have. The packages of the user are found all the same.
import os
import site
import sys

HERE = os.path.dirname(os.path.realpath(__file__))


def begin():
    if not hasattr(sys, "ralph_coverage"):
        path = os.path.join(HERE, "..", "..", "..", "..", "sitecustomize.py")
        with open(path, encoding="utf-8") as f:
            code = compile(f.read(), path, "exec")
        exec(code, {"__name__": "ralph_coverage", "__file__": path})


def own():
    """Bring in what is in the folder that this one took the place of."""
    sys.path[:] = [p for p in sys.path if os.path.realpath(p) != HERE]
    base = os.environ.get("RALPH_PYTHONUSERBASE") or os.path.join(os.path.expanduser("~"), ".local")
    folder = os.path.join(base, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
    if os.path.isdir(folder):
        site.addsitedir(folder)
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("usercustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["usercustomize"] = module
    spec.loader.exec_module(module)


try:
    begin()
except Exception:
    pass
own()
