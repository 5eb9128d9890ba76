"""The same sandbox as a container of podman or docker, with an empty image."""

import os
import shutil
import subprocess
from pathlib import Path

from vit_course.teaching.classroom.sandbox import FOR_PYTORCH, WRITABLE, Bubblewrap, Limits
from vit_course.teaching.classroom.sandbox_environment import (
    ETC_FILES,
    PROXIES,
    SYSTEM,
    clients_environment,
    environment,
    readable_folders,
    to_cover,
)

IMAGE = "vit-course-empty"
# A program that prints a container's limits of memory and processes, from version 2 or 1 of cgroups(7).
LIMITS_SET = """
from pathlib import Path
for name in ("memory.max", "memory/memory.limit_in_bytes", "pids.max", "pids/pids.max"):
    if (file := Path("/sys/fs/cgroup", name)).is_file():
        print(file.read_text())
"""


class Container(Bubblewrap):
    """podman or docker, with an empty image."""

    in_memory = ()  # the container's memory limit includes them

    def __init__(self, program: str):
        self.name = self.program = program

    def start(self, command, settings, **options):
        line = [self.program, *self.arguments(settings), IMAGE, *command]
        return subprocess.Popen(line, env=clients_environment(), **options)

    def arguments(self, settings):
        size, memory = f"size={int(settings.limits.disk * 2**30)}", f"{self._megabytes(settings.limits)}m"
        words = ["run", "--rm", "--interactive", "--name", settings.home.name, "--network", "none", "--pull", "never"]
        words += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        # Without a log: the server would write what a submission sends to the teacher's disk, without a limit.
        words += ["--user", f"{os.getuid()}:{os.getgid()}", "--log-driver", "none"]
        words += ["--memory", memory, "--memory-swap", memory, "--pids-limit", str(settings.limits.processes)]
        # podman would copy into it what lies below: what a hidden folder holds.
        empty = ",notmpcopyup" if self.name == "podman" else ""
        for path in (WRITABLE, "/tmp"):
            words += ["--tmpfs", f"{path}:{size},mode=1777{empty}"]
        words += ["--shm-size", str(int(settings.limits.disk * 2**30)), "--workdir", WRITABLE]
        if self.name == "podman":
            words += ["--read-only-tmpfs=false", "--http-proxy=false", "--env-host=false"]
            # Where the grading was killed and did not end it.
            words += ["--timeout", str(int(60 * settings.limits.minutes) + 60)]
            words += ["--userns", "keep-id"] if os.getuid() != 0 else []
        for path in (*SYSTEM, *ETC_FILES, *readable_folders(settings.hidden)):
            if Path(path).exists():
                words += ["--volume", f"{os.path.realpath(path)}:{path}:ro"]
        for path in to_cover(settings.hidden):
            words += ["--tmpfs", f"{path}:ro,size=4k{empty}"]
        for path, inside in zip(settings.readable, self.readable_inside(settings), strict=True):
            words += ["--volume", f"{path}:{inside}:ro"]
        proxies = dict.fromkeys([*PROXIES, *map(str.upper, PROXIES)], "")
        for name, value in (proxies | environment(WRITABLE)).items():
            words += ["--env", f"{name}={value}"]
        return words

    def _processes(self, wanted):
        return 2**20  # in effect none: the container has its own limit

    def _megabytes(self, limits: Limits) -> int:
        return int((limits.memory + FOR_PYTORCH) * 1024)

    def _trial(self, limits):
        # Without root, some systems start a container without its limits, so its cgroup is asked for them.
        program, words = super()._trial(limits)
        return program + LIMITS_SET, [*words, str(self._megabytes(limits) * 2**20), str(limits.processes)]

    def end(self, process, settings):
        # podman would ask it to end and wait for 10 seconds, in which a second Ctrl+C would leave it running.
        at_once = ["--time", "0"] if self.name == "podman" else []
        self._client("rm", "--force", *at_once, settings.home.name)
        process.kill()
        process.wait()

    def why_not(self):
        if not shutil.which(self.program):
            return "it is not installed"
        try:
            if self._client("image", "inspect", IMAGE).returncode:
                self._client("import", "-", IMAGE, input=b"\0" * 10240)  # a tar without files
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return super().why_not()

    def _client(self, *words: str, **options) -> subprocess.CompletedProcess:
        line, own = [self.program, *words], clients_environment()
        return subprocess.run(line, env=own, capture_output=True, timeout=60, check=False, **options)
