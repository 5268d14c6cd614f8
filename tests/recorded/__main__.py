"""Record the answers of all settings: `OMP_NUM_THREADS=1 python -m tests.recorded [words in the name]`."""

import json
import sys
import time
import warnings
from pathlib import Path

from .settings import SETTINGS

FILE = Path(__file__).with_name("answers.json")

known = json.loads(FILE.read_text()) if FILE.exists() else {}
for name, answer in SETTINGS.items():
    if all(word in name for word in sys.argv[1:]):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known[name] = {key: [list(v.shape), v.ravel().tolist()] for key, v in answer().items()}
        print(f"{time.perf_counter() - began:6.2f} s  {name}", flush=True)
FILE.write_text(json.dumps({name: known[name] for name in SETTINGS if name in known}, indent=0))
