"""Runs tests as other processors would compute: python tests/portable.py [--settings sse,avx2] [pytest's arguments]

A processor without AVX-512, or one more thread, adds the same numbers in another order, and the last digits change. One
machine can do the same: PyTorch (ATen), oneDNN, MKL and OpenBLAS each take their instruction set from a variable. This
runs the given tests under each of `SETTINGS`, by default all chapters and all tests of numbers, and prints the
comparisons that use most of their tolerance: the expected number, the least and the greatest that was found, and the
share of the tolerance that the difference uses. A share above a third is marked, because such a number may exceed its
tolerance on a processor that was not tried. The exit code is that of the worst run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from spread import FOLDER

ROOT = Path(__file__).parents[1]
SSE = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"}
SSE |= {"OPENBLAS_CORETYPE": "NEHALEM"}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2", "OPENBLAS_CORETYPE": "HASWELL"}
# Most settings do not test the number of threads. Two threads sleep while they wait for one another: pytest runs two
# processes, so that a thread that waits in a loop would take the processor from the others.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
TWO_THREADS = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"}
# The most different from the machine that stored the outputs come first.
SETTINGS = {
    "sse": SSE,
    "avx2": AVX2,
    "avx2-two-threads": {**AVX2, "MKL_CBWR": "AUTO"} | TWO_THREADS,
    "two-threads": TWO_THREADS,
    "as-it-is": {},
}
# Tests of files, pages and commands compare no numbers.
WITHOUT = (
    *("attacks", "benchmarks", "checksums", "classroom", "commands", "documents", "environment", "fuzz", "handed_in"),
    *("imports", "in_jupyterlab", "interrupts", "killed", "kit", "learner", "live", "marks", "output_folder"),
    *("portable", "release", "site", "types", "wheel"),
)
EVERYTHING = ["notebooks", "tests", "-m", "not browser", *(f"--ignore-glob=tests/test_{name}*" for name in WITHOUT)]
A_THIRD = 1 / 3


def run(setting: str, arguments: list[str], folder: Path) -> int:
    """Runs pytest under a setting, with its comparisons noted in the folder; -> its exit code."""
    folder.mkdir()
    startup = folder / "ipython" / "profile_default" / "startup"  # kernels read it when they start
    startup.mkdir(parents=True)
    (startup / "listen.py").write_text("import spread\n\nspread.listen()\n")
    path = os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))
    environment = {FOLDER: str(folder), "IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": path}
    settings = ["-c", str(ROOT / "pyproject.toml"), "-o", "enable_assertion_pass_hook=true"]
    command = [sys.executable, "-m", "pytest", "-q", *settings, *arguments]
    started = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD, **SETTINGS[setting], **environment},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.strip().splitlines()
    print(f"{setting:17} {lines[-1] if lines else done.stderr} ({time.monotonic() - started:.0f} s)", flush=True)
    if done.returncode:
        print("\n".join(line for line in lines if line.startswith(("FAILED", "ERROR"))), flush=True)
        (ROOT / "build").mkdir(exist_ok=True)
        (ROOT / "build" / f"portable-{setting}.log").write_text(done.stdout + done.stderr)
    return done.returncode


def comparisons(folder: Path) -> dict[str, list[dict]]:
    """The recorded comparisons by their place; one place may have several."""
    found = defaultdict(list)
    for file in folder.glob("*/*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[row["where"]].append(row)
    return found


def table(found: dict[str, list[dict]], most: int) -> str:
    """The places that use most of their tolerance, a line each."""
    worst = {where: max(rows, key=lambda row: row["share"]) for where, rows in found.items()}
    order = sorted(worst, key=lambda where: -worst[where]["share"])
    over = sum(row["share"] > A_THIRD for row in worst.values())
    lines = [f"{len(worst)} places compare numbers; {over} of them use more than a third of their tolerance"]
    lines.append("share   expected      least        most         where")
    for where in order[:most]:
        expected = worst[where]["expected"]
        seen = [row["found"] for row in found[where] if row["expected"] == expected]
        mark = ">" if worst[where]["share"] > A_THIRD else " "
        numbers = f"{expected:<12.5g} {min(seen):<12.5g} {max(seen):<12.5g}"
        lines.append(f"{worst[where]['share']:5.2f} {mark} {numbers} {where}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--settings", default=",".join(SETTINGS), help=f"some of {', '.join(SETTINGS)}")
    parser.add_argument("--most", type=int, default=40, help="how many lines the table has")
    options, arguments = parser.parse_known_args()
    chosen = options.settings.split(",")
    if strange := set(chosen) - set(SETTINGS):
        parser.error(f"--settings takes some of {', '.join(SETTINGS)}, got {', '.join(sorted(strange))}")
    with tempfile.TemporaryDirectory() as place:
        codes = [run(setting, arguments or EVERYTHING, Path(place, setting)) for setting in chosen]
        print(table(comparisons(Path(place)), options.most))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
