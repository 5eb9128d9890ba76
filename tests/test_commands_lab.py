"""`python -m vit_course lab`."""

import json
import os
import re
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
from conftest import cases
from lab import lab_process, wait_for_address

from vit_course.commands.lab import with_ours

HERE = Path("here")


@pytest.mark.slow
def test_lab_opens_at_chapter_00_for_whoever_runs_it_with_a_token_and_for_this_machine_alone():
    with lab_process() as (lab, log):
        address = wait_for_address(lab, log)
        token = re.search(rf"{re.escape(address)}/lab\S*\?token=(\w{{32,}})", log.read_text())[1]
        with urllib.request.urlopen(f"{address}?token={token}", timeout=30) as answer:
            assert answer.status == 200 and answer.url.startswith(f"{address}/lab/tree/00_start_here.ipynb")
        for path in ("00_start_here.ipynb", "files/res/diagrams/model.svg"):
            content = f"{address}/api/contents/{path}?content=0&token={token}"
            with urllib.request.urlopen(content, timeout=30) as answer:
                assert json.load(answer)["path"] == path
        with urllib.request.urlopen(f"{address}/lab", timeout=30) as answer:
            assert answer.url.startswith(f"{address}/login"), "without a token"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{address}/api/contents", timeout=30)
        sockets = psutil.Process(lab.pid).net_connections("inet")
        assert {place.laddr.ip for place in sockets if place.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
        lab.terminate()
        assert lab.wait(60) == 0, log.read_text()
        with pytest.raises(urllib.error.URLError, match="refused"):
            urllib.request.urlopen(address, timeout=30)


def test_lab_starts_as_root_also_where_the_user_says_so_and_other_users_need_no_leave(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert "--allow-root" in with_ours([], HERE) and "--allow-root" in with_ours(["--no-browser"], HERE)
    for flag in ("--allow-root", "--ServerApp.allow_root=True"):
        assert [one for one in with_ours([flag], HERE) if "root" in one and "root_dir" not in one] == [flag]
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert "--allow-root" not in with_ours([], HERE)
    monkeypatch.delattr(os, "geteuid")  # Windows
    assert "--allow-root" not in with_ours([], HERE)


@cases(
    ("flags", "ours"),
    [
        (["--ip", "0.0.0.0"], "--ServerApp.ip="),
        (["--ip=0.0.0.0"], "--ServerApp.ip="),
        (["--ServerApp.ip=0.0.0.0"], "--ServerApp.ip="),
        (["--notebook-dir=/srv"], "--ServerApp.root_dir="),
        (["--ServerApp.root_dir=/srv"], "--ServerApp.root_dir="),
        (["--LabApp.default_url=/tree"], "--LabApp.default_url="),
    ],
    ids=str,
)
def test_flags_of_the_user_overrule_ours(flags, ours):
    before, after = with_ours(["--port", "8889"], HERE), with_ours(flags, HERE)
    assert before[-2:] == ["--port", "8889"] and after[-len(flags) :] == flags
    assert [flag for flag in before[:-2] if not flag.startswith(ours)] == after[: -len(flags)]
    assert any(flag.startswith(ours) for flag in before)
