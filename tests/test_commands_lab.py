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
from lab import lab_process, running_lab, wait_for_address

from vit_course.commands.lab import with_ours

HERE = Path("here")


@pytest.mark.slow
def test_lab_opens_at_chapter_00():
    with running_lab() as address:
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert answer.url == f"{address}/lab/tree/00_start_here.ipynb"
        for path in ("00_start_here.ipynb", "files/res/diagrams/model.svg"):
            with urllib.request.urlopen(f"{address}/api/contents/{path}?content=0", timeout=30) as answer:
                assert json.load(answer)["path"] == path


@pytest.mark.slow
def test_lab_starts_for_whoever_runs_it_with_a_token_and_for_this_machine_alone():
    with lab_process() as (lab, log):
        address = wait_for_address(lab, log)
        token = re.search(rf"{re.escape(address)}/lab\S*\?token=(\w{{32,}})", log.read_text())[1]
        with urllib.request.urlopen(f"{address}/lab?token={token}", timeout=30) as answer:
            assert answer.status == 200 and "/login" not in answer.url
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


@pytest.mark.slow
@cases("flags", [["--allow-root"], ["--ServerApp.allow_root=True"]], ids=str)
def test_lab_starts_as_root_also_where_the_user_says_so(flags, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert "--allow-root" in with_ours([], HERE) and "--allow-root" in with_ours(["--no-browser"], HERE)
    assert [flag for flag in with_ours(flags, HERE) if "root" in flag and "root_dir" not in flag] == flags


def test_other_users_need_no_leave(monkeypatch):
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
