"""What a program in a sandbox sees, may write, start and keep: the attacks, in every sandbox that this machine has."""

import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from vit_course.teaching.classroom import containers, control_group, isolation, sandbox_environment
from vit_course.teaching.classroom.sandbox import WRITABLE, Limits, SandboxSettings

SECRET = "a-token-of-the-teacher"
LIMITS = Limits(memory=1.0, processes=60, disk=0.01, minutes=1.0)


@pytest.fixture(params=list(isolation.SANDBOXES))
def way(request):
    """Each sandbox that works here."""
    if why := isolation.SANDBOXES[request.param].why_not():
        pytest.skip(f"{request.param}: {why}")
    return isolation.SANDBOXES[request.param]


def ran(way, folder: Path, program: str, limits: Limits = LIMITS, hidden=(), seconds: float = 60) -> str:
    """What a Python program prints in the sandbox; "ended" where it had to be ended."""
    settings = SandboxSettings(folder / f"vit-course-{os.getpid()}-{time.monotonic_ns()}", (), limits, hidden)
    pipe = subprocess.PIPE
    streams = dict(stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)
    process = way.start([sys.executable, "-I", "-c", program], settings, **streams)
    try:
        return process.communicate(timeout=seconds)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        return "ended"
    finally:
        way.end(process, settings)


READS = """
import glob, os
for path in [path for name in ("environ", "cmdline", "cwd", "fd/*") for path in glob.glob("/proc/[0-9]*/" + name)]:
    try:
        print(path, os.readlink(path) if os.path.islink(path) else open(path).read(10_000))
    except OSError as error:
        print(path, error.strerror)
"""


def test_no_process_in_it_has_the_teachers_environment_or_a_file_of_the_teachers(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEACHERS_TOKEN", SECRET)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@proxy")
    said = ran(way, tmp_path, READS, hidden=(tmp_path / "hidden",))
    assert "/proc/1/environ" in said and SECRET not in said
    assert str(tmp_path) not in said, "the command line of the sandbox's first process names no folder of the teacher's"


FILLS = """
import os
# Every place that the kernel lists, and the root.
for place in sorted({"/", *(line.split()[1] for line in open("/proc/mounts"))}):
    written = 0
    try:
        with open(os.path.join(place, "filled"), "wb") as file:
            for _ in range(128):
                written += file.write(bytes(2**20))
                file.flush()
    except OSError:
        pass
    print(place, written)
"""


def test_every_writable_place_has_a_size(way, tmp_path):
    course = Path("/usr/share/doc")  # inside a visible folder, so that it must be to_cover
    sizes = dict(line.rsplit(" ", 1) for line in ran(way, tmp_path, FILLS, hidden=(course,)).splitlines())
    written = {place: int(size) for place, size in sizes.items() if int(size)}
    # A container's own /dev is in memory too: 64 MB, which its limit of memory includes.
    assert written.pop("/dev", 0) <= (2**26 if way.name in ("podman", "docker") else 0)
    assert {WRITABLE, "/tmp"} <= written.keys() <= {WRITABLE, "/tmp", "/dev/shm"}
    assert all(size <= 0.01 * 2**30 + 4096 for size in written.values()), written


LISTS = """
import os, sys
for folder, _, names in os.walk(sys.prefix):
    for name in names:
        if name == "secret-marks.txt":
            print(os.path.join(folder, name), open(os.path.join(folder, name)).read())
print("looked")
"""


def test_a_hidden_folder_inside_a_visible_one_is_empty_however_small_it_is(way, tmp_path):
    # Small enough for the file system that covers it.
    with tempfile.TemporaryDirectory(prefix="course-", dir=Path(sys.prefix, "lib")) as course:
        Path(course, "secret-marks.txt").write_text("precious")
        assert "precious" in ran(way, tmp_path, LISTS), "not hidden, it is seen"
        assert ran(way, tmp_path, LISTS, hidden=(Path(course),)).strip() == "looked"


ESCAPES = """
import ctypes, os, subprocess
try:
    with open("/proc/sys/vm/swappiness", "r+") as file:
        value = file.read()
        file.seek(0)
        file.write(value)
        print("changed the kernel's settings")
except OSError as error:
    print(error.strerror)
if subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode == 0:
    print("made a user namespace")
print("ipc", os.readlink("/proc/self/ns/ipc"))
"""


def test_the_kernels_settings_are_closed_and_its_namespaces_are_its_own(way, tmp_path):
    said = ran(way, tmp_path, ESCAPES)
    assert "changed the kernel" not in said
    # In a container, what such a namespace holds in memory counts.
    assert "made a user namespace" not in said or way.name != "bubblewrap"
    assert "ipc:[" in said and os.readlink("/proc/self/ns/ipc") not in said  # noqa: PTH115


def test_of_a_virtual_environment_in_a_folder_of_work_only_the_environment_is_seen(tmp_path, monkeypatch):
    for name in ("bin", "lib", "notes"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    seen = sandbox_environment.readable_folders()
    assert {str(tmp_path / "bin"), str(tmp_path / "lib")} <= {*seen} and str(tmp_path) not in seen
    assert not any("notes" in path for path in seen)


BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_a_fork_bomb_is_counted_and_ends_whole(way, tmp_path):
    name = f"vit-course-trial-{os.getpid()}"
    if os.getuid() == 0 and way.name == "bubblewrap" and control_group.new_group(name, 5) is None:
        pytest.skip("root without cgroups: nothing counts its processes")
    control_group.remove_group(name)
    assert ran(way, tmp_path, BOMB + "# 31415926", seconds=2) == "ended"
    assert not [one for one in psutil.process_iter(["cmdline"]) if "31415926" in " ".join(one.info["cmdline"] or ())]
    assert not list(Path("/sys/fs/cgroup").glob(f"**/vit-course-{os.getpid()}-*")), "its group is removed"


STAYS = "import subprocess\nsubprocess.Popen(['sleep', '98761'], start_new_session=True)\nprint('started')"


def test_nothing_outlives_it(way, tmp_path):
    assert "started" in ran(way, tmp_path, STAYS)
    left = [one for one in psutil.process_iter(["cmdline"]) if "98761" in (one.info["cmdline"] or ())]
    assert not psutil.wait_procs(left, timeout=10)[1]  # the kernel ends them one after the other


@pytest.mark.skipif(os.name == "nt" or not Path("/usr/bin/bwrap").exists(), reason="bubblewrap is not installed")
@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_python_and_the_course_may_lie_below_a_folder_that_the_sandbox_mounts_over(place, tmp_path):
    way, folder = isolation.SANDBOXES["bubblewrap"], Path(place, f"vit-course-test-{os.getpid()}")
    (folder / "bin").mkdir(parents=True)
    try:
        (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())  # as venv does
        (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
        program = (
            "import os, sys; sys.path[:0] = sys.argv[1:]\n"
            "from pathlib import Path\nfrom vit_course.teaching.classroom import isolation\n"
            "print(repr(isolation.SANDBOXES['bubblewrap'].why_not()))"
        )
        line = [str(folder / "bin" / "python"), "-c", program, *filter(None, sys.path)]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
        assert done.stdout == "''\n", done
    finally:
        for path in (folder / "bin" / "python", folder / "pyvenv.cfg"):
            path.unlink()
        (folder / "bin").rmdir()
        folder.rmdir()
    assert way.name == "bubblewrap"


def test_where_a_sandbox_does_not_start_the_reason_is_said(tmp_path, monkeypatch):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: no permission to create a namespace' >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"podman: it is not installed; .*bubblewrap: bwrap: no permission to create"):
        isolation.choose()
    program.write_text("#!/bin/sh\nexit 0\n")
    assert isolation.SANDBOXES["bubblewrap"].why_not(), "a program that starts nothing"


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_the_command_line_of_a_container(name, tmp_path, monkeypatch):
    """Neither runs on every machine, so what they are asked for is read here."""
    monkeypatch.setenv("TEACHERS_TOKEN", SECRET)
    monkeypatch.setenv("https_proxy", f"http://me:{SECRET}@proxy")
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    course = Path(sys.prefix) / "lib" / "hidden-course"
    given = tmp_path / "given"
    settings = SandboxSettings(tmp_path / "vit-course-7", (given,), Limits(4.0, 256, 30.0, 1.0), (course,))
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda line, **options: started.append((line, options)))
    containers.Container(name).start(["python", "x"], settings)
    ((line, options),) = started
    assert line[:2] == [name, "run"] and line[-3:] == [containers.IMAGE, "python", "x"]
    for words in (
        "--network none", "--pull never", "--log-driver none", "--cap-drop ALL", "--security-opt no-new-privileges",
        "--memory 5120m", "--memory-swap 5120m", "--pids-limit 256", f"--tmpfs {WRITABLE}:size={2**30},mode=1777",
        f"--tmpfs /tmp:size={2**30},mode=1777", f"--shm-size {2**30}", f"--tmpfs {course}:ro,size=4k",
        f"--volume {given}:/given/0:ro", "--name vit-course-7", "--env https_proxy= ", "--env HTTPS_PROXY= ",
    ):  # fmt: skip
        assert words in " ".join(line), words
    assert {"--read-only", "--rm", "--interactive"} <= {*line}
    assert name != "podman" or {"--http-proxy=false", "--env-host=false", "--read-only-tmpfs=false"} <= {*line}
    volumes = [word for before, word in pairwise(line) if before == "--volume"]
    assert all(volume.endswith(":ro") for volume in volumes) and not any("docker.sock" in one for one in volumes)
    assert SECRET not in " ".join(line) and options["env"].keys() <= {*sandbox_environment.OF_CLIENTS}


def test_a_path_that_holds_the_home_folder_is_not_shown(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path.home()), str(Path.home().parent)])
    assert not {str(Path.home().resolve()), str(Path.home().parent.resolve())} & {
        *sandbox_environment.readable_folders()
    }
