"""`python benchmarks/statistics.py` measures what the statistics promise: see _promises.py.

Python looks for modules beside a script first, so the libraries of every other benchmark would find this file where
they ask for the standard module `statistics`: to them it is that module.
"""

from __future__ import annotations

if __name__ == "__main__":
    from _promises import main

    main()
else:
    import importlib.util
    import sys
    import sysconfig

    _spec = importlib.util.spec_from_file_location(__name__, f"{sysconfig.get_path('stdlib')}/statistics.py")
    assert _spec is not None and _spec.loader is not None
    sys.modules[__name__] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[__name__])
