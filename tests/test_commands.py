"""The command line as a whole: help, what it says before PyTorch is imported, and how it fails."""

import json
import re

import numpy as np
import pytest
import torch
from conftest import ROOT, python

from vit_course.__main__ import main
from vit_course.commands import check
from vit_course.commands.program import COMMANDS

NAMES = [command.__name__.split(".")[-1] for command in COMMANDS]


# ---- before PyTorch, whose import takes seconds
WITHOUT = """
import contextlib, io, json, os, sys
for name in ("torch", "torchvision", "matplotlib", "sklearn", "numpy"):
    sys.modules[name] = None
from vit_course.__main__ import main
found = []
for folder, arguments in json.loads(sys.argv[1]):
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code
    found.append((code, out.getvalue(), errors.getvalue()))
print(json.dumps(found))
"""


def without_torch(*commands) -> list[tuple[int, str, str]]:
    """Runs commands, each of a folder and its arguments; -> for each the exit code, and what it printed and said."""
    # No line of the usage is broken.
    done = python("-c", WITHOUT, json.dumps([(str(folder), words) for folder, words in commands]), COLUMNS="500")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_help_needs_no_torch(tmp_path):
    asked = [["--help"], *([name, "--help"] for name in NAMES)]
    answers = without_torch(*((tmp_path, words) for words in asked))
    for words, (code, out, errors) in zip(asked, answers, strict=True):
        assert code == 0 and errors == "" and out.startswith("usage: python -m vit_course"), words
    assert all(re.search(rf"^    {name}\s", answers[0][1], re.MULTILINE) for name in NAMES)


EMPTY_NAMES = ("live", "site -o", "kit", "explore photo.jpg -o", "train --out", "lab --folder", "classroom make",
               "classroom export full -o")  # fmt: skip


BAD_INPUT = [
    ("", "the following arguments are required: COMMAND"),
    ("nonsense", "invalid choice: 'nonsense'"),
    ("train --nonsense", "unrecognized arguments: --nonsense"),
    ("train --epochs x", "argument --epochs: invalid int value: 'x'"),
    ("train --epochs 0", "epochs must be at least 1, got 0"),
    ("train --weight-decay nan", "weight_decay must be "),
    ("train --pool max", "pool must be "),
    ("train --hidden-dim 100000000", "hidden_dim must be at most "),
    ("train --image-size 1000000", "image_size"),
    ("train --recipe nothing", "there is no recipe 'nothing'; the recipes are clip-scenes, digits, dino-cifar"),
    ("train --recipe mine.toml", "a recipe's [model] has no 'hiden_dim'; it has patch_size, hidden_dim, "),
    ("train --data nosuchfolder", "or an existing folder, got 'nosuchfolder'"),
    ("train --device meta", "device must be cpu, cuda, cuda:1 or mps, got 'meta'"),
    ("explore missing.jpg", "there is no file missing.jpg"),
    (
        "explore photo.jpg -o new.html --weights missing.safetensors",
        "there is no checkpoint 'missing.safetensors'",
    ),
    ("explore photo.jpg", "photo.html exists: add --force to overwrite it, or name another file with --out"),
    ("explore photo.jpg -o no/such/page.html", "there is no folder no/such to write page.html into: make it, or name"),
    ("explore photo.jpg -o page.txt", "the file to write must end in .html, got page.txt"),
    ("classify missing.jpg", "there is no file missing.jpg"),
    ("classify photo.jpg --weights missing.safetensors", "there is no checkpoint 'missing.safetensors'"),
    ("classroom make new --chapters 77", "there is no chapter '77'; the chapters are 00_start_here"),
    ("classroom make full", "full already exists and is not empty: add --overwrite"),
    ("kit full", "full holds other files and no kit.json of an earlier run: mine.txt; name another folder"),
    *((f"{command} EMPTY", "a name is needed, got an empty one") for command in EMPTY_NAMES),
    (
        "explore page.html --force",
        "page.html is an input file and would be overwritten: name another file with --out",
    ),
    (
        "explore photo.jpg -o page.html --beside page.html --force",
        "page.html is an input file and would be overwritten",
    ),
    ("classroom export full -o marks.txt", "the file to write must end in .csv, got marks.txt"),
    ("classroom export full -o gradebook.db --force", "the file to write must end in .csv, got gradebook.db"),
    ("kit new --from 'a", "--from needs an address without blanks and quotation marks"),
    ("site -o full", "full holds other files and no site.json of an earlier run: mine.txt; name another folder"),
    ("site -o old", "old was written by an earlier run: add --force to replace it, or name another folder"),
]


@pytest.mark.slow
def test_bad_input_needs_no_torch(tmp_path, subtests):
    folders = [tmp_path / str(number) for number in range(len(BAD_INPUT))]
    for folder in folders:
        for name in ("photo.jpg", "photo.html", "page.html", "full/mine.txt", "old/site.json"):
            (folder / name).parent.mkdir(exist_ok=True, parents=True)
            (folder / name).write_text("mine")
        (folder / "old" / "site.json").write_text('{"files": {}}')
        (folder / "mine.toml").write_text('[data]\nsource = "digits"\n[model]\nhiden_dim = 8\n[training]\n')
    before = sorted(path.relative_to(folders[0]) for path in folders[0].rglob("*"))
    words = ([word.replace("EMPTY", "") for word in arguments.split()] for arguments, _ in BAD_INPUT)
    found = without_torch(*zip(folders, words, strict=True))
    for folder, (arguments, message), (code, out, errors) in zip(folders, BAD_INPUT, found, strict=True):
        with subtests.test(arguments):
            *usage, last = errors.splitlines()
            assert code == 2 and out == "" and message in last, errors
            assert last.startswith("error: ") != bool(usage), "one line, or the usage before it"
            assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before
            assert (folder / "photo.html").read_text() == "mine"


def test_what_needs_torch_is_not_done_without(tmp_path):
    words = ["train", "--num-train", "9", "--image-size", "8", "--out", "run"]
    [(code, _, errors)] = without_torch((tmp_path, words))
    assert code == 1 and errors.count("\n") == 1
    assert re.search("^error: .*torch.*: python -m vit_course check says what is missing$", errors)


# ---- what nobody foresaw


def failing(monkeypatch, error):
    def run(options):
        raise error

    monkeypatch.setattr(check, "run", run)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (RuntimeError("two\n  lines"), 1, "unexpected RuntimeError: two lines (add --debug for the traceback)"),
        (KeyError("a"), 1, "unexpected KeyError: 'a' (add --debug for the traceback)"),
        (AssertionError(), 1, "unexpected AssertionError: no reason is given (add --debug for the traceback)"),
        (torch.OutOfMemoryError("CUDA out of memory."), 1, "not enough memory: CUDA out of memory."),
        (MemoryError("Unable to allocate 8 TiB"), 1, "not enough memory: Unable to allocate 8 TiB"),
        (ValueError("images are of yesterday"), 2, "images are of yesterday"),
        (FileNotFoundError(2, "No such file", "a.b"), 2, "a.b: No such file"),
    ],
)
def test_an_error_is_one_line_and_a_traceback_if_asked(error, code, line, monkeypatch, capsys):
    failing(monkeypatch, error)
    assert main(["check"]) == code
    assert capsys.readouterr().err == f"error: {line}\n"
    for arguments in (["--debug", "check"], ["check", "--debug"]):
        assert main(arguments) == code
        errors = capsys.readouterr().err
        assert errors.startswith("Traceback") and __file__ in errors
        assert errors.splitlines()[-1] == f"error: {line.removesuffix(' (add --debug for the traceback)')}"


@pytest.mark.parametrize("allocate", [torch.empty, np.empty], ids=["torch", "numpy"])
def test_memory_that_is_not_there_is_said_as_what_it_is(allocate, monkeypatch, capsys):
    monkeypatch.setattr(check, "run", lambda options: allocate(2**52))
    assert main(["check"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: not enough memory: ") and error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["check", "\x1b[2Jx"], ["classify", "\x1b[2J\u202e\n.jpg"], ["explore", "a\udcff\x9b.jpg"], ["live", "\a"]],
)
def test_a_terminal_obeys_no_name(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "\a").write_text("a file")
    for debug in ([], ["--debug"]):
        assert main([*arguments, *debug]) == 2
        error = capsys.readouterr().err
        assert all(one.isprintable() for one in error.replace("\n", "")), ascii(error)
        assert error.endswith("\n") and (debug or error.count("\n") == 1)
        assert any(seen in error for seen in (r"\x1b[2J", r"\udcff\x9b", r"\x07"))


def test_what_commands_print_goes_one_way():
    places = {"check.py", "failures.py", "console.py"}  # the first prints names of packages and what they say
    folder = ROOT / "vit_course" / "commands"
    found = [path.name for path in folder.glob("*.py") if re.search(r"\bprint\(|std(out|err)\.", path.read_text())]
    assert set(found) <= places


def test_an_interrupt_is_130(monkeypatch, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert main(["check"]) == 130
    assert capsys.readouterr().err == "\nstopped\n"
