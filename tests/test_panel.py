"""What a learner is told: the panel of a verdict, cells that failed, errors, mistakes in several parts, guesses."""

import re
import types

import answers
import exercises
import matplotlib
import pytest
import torch

from vit_course import checks
from vit_course.checks import guessed, kernel_watch
from vit_course.checks.draw import Draw
from vit_course.checks.exercise import EXERCISES
from vit_course.checks.tools.modules import scatter, trained_by
from vit_course.checks.tools.words import told_apart
from vit_course.encoder import EncoderBlock


@pytest.fixture(autouse=True)
def panels(monkeypatch):
    monkeypatch.delenv("VIT_COURSE_PANELS", raising=False)


RIGHT = answers.of("attention.weights").rights[0]
MISTAKE, WRONG = answers.of("attention.weights").wrongs[0]


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def shown(report) -> dict[str, str]:
    return report._repr_mimebundle_()


@pytest.mark.slow
def test_a_picture_that_cannot_be_drawn_costs_nothing_but_the_picture(monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "text.usetex", True)
    monkeypatch.setenv("PATH", "")  # without LaTeX
    bundle = shown(checks.attention.weights(WRONG))
    assert "Not yet" in bundle["text/html"] and "<img" not in bundle["text/html"]


@pytest.mark.slow
def test_a_panel_says_what_the_text_says():
    report = checks.attention.weights(WRONG)
    bundle = shown(report)
    assert bundle["text/plain"] == str(report) == report.text
    said = words(bundle["text/html"])
    assert "Not yet" in said and "4.1 Weights with a mask" in said and report.sentence in said
    for detail in report.details:
        assert detail.split(":")[-1].strip() in said
    assert report.next in bundle["text/html"].replace("&quot;", '"') and MISTAKE not in said
    assert 'src="data:image/png;base64,' in bundle["text/html"] and "script" not in bundle["text/html"]


def test_passed_and_in_part_are_words_too():
    assert "Passed" in words(shown(checks.attention.weights(RIGHT))["text/html"])
    right = answers.of("attention.unnoticed").rights[0]()
    report = checks.attention.unnoticed(lambda: right | {"traded": "moved"})
    said = words(shown(report)["text/html"])
    assert "In part: 0.83 of 1" in said and report.text.startswith("attention.unnoticed: in part, 0.83 of 1.")
    assert said.count("&#10003;") == 5 and said.count("&#10007;") == 1


def test_what_a_learner_wrote_is_shown_and_not_run():
    report = checks.attention.weights(lambda q, k, keep: (_ for _ in ()).throw(ValueError("<script>alert(1)</script>")))
    assert "<script>" not in shown(report)["text/html"] and "&lt;script&gt;" in shown(report)["text/html"]


def test_an_untouched_stub_is_text_alone_and_panels_can_be_switched_off(monkeypatch):
    def stub(q, k, keep):
        raise NotImplementedError

    assert list(shown(checks.attention.weights(stub))) == ["text/plain"]
    monkeypatch.setenv("VIT_COURSE_PANELS", "off")
    assert list(shown(checks.attention.weights(WRONG))) == ["text/plain"]


def test_the_same_mistake_again_in_a_notebook_opens_the_next_hint_and_a_new_one_the_first(monkeypatch):
    monkeypatch.setattr(kernel_watch, "kernel", lambda: object())
    said = [checks.maps.class_map(None).next for _ in range(4)]
    assert [line[:6] for line in said] == ["Hint 1", "Hint 2", "Hint 3", "Hint 3"] and "solution" in said[-1]
    assert checks.maps.class_map(lambda maps, grid: None).next.startswith("Hint 1 of Exercise 8.1; ")


def test_after_a_pass_the_next_exercise_is_named():
    assert checks.attention.weights(RIGHT).next.startswith("Exercise 4.2, ")
    assert EXERCISES["capstone.trained"].number == "13.6"


class Shell:
    """What a kernel is to the check: names, and events around cells."""

    def __init__(self):
        self.user_ns, self.told = {}, {}
        self.events = types.SimpleNamespace(register=self.told.setdefault)

    def run(self, source: str) -> None:
        self.told["pre_run_cell"](types.SimpleNamespace(raw_cell=source))
        before, during = None, None
        try:
            code = compile(source, "cell", "exec")
        except SyntaxError as error:
            before = error
        else:
            try:
                exec(code, self.user_ns)
            except Exception as error:
                during = error
        self.told["post_run_cell"](types.SimpleNamespace(error_before_exec=before, error_in_exec=during))


@pytest.fixture
def shell(monkeypatch):
    kernel = Shell()
    monkeypatch.setattr(kernel_watch, "_watch", kernel_watch._Watch(kernel))
    kernel.user_ns["checks"] = checks
    return kernel


DEFINITION = """\
def mine(q, k, keep):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(~keep[:, None], float("-inf")).softmax(-1)
"""
CHECK = "report = checks.attention.weights(mine)"


@pytest.mark.parametrize(
    "faulty", ["def mine(q, k, keep):\n    return (q @ k.mT\n", "1 / 0\n" + DEFINITION, "x = nowhere\nmine = 3\n"]
)
def test_a_cell_that_failed_is_noticed_and_the_definition_before_it_is_not_judged(shell, faulty):
    shell.run(DEFINITION)
    shell.run(faulty)
    shell.run(CHECK)
    report = shell.user_ns["report"]
    assert (report.status, report.mistake) == ("not attempted", "cell-failed")
    assert "The cell that defines mine ended in an error" in report.text and "Error" in report.text
    shell.run(DEFINITION)
    shell.run(CHECK)
    assert shell.user_ns["report"].status == "passed"


@pytest.mark.parametrize("cells", [[DEFINITION + "1 / 0\n"], [DEFINITION, "def other(:\n"]])
def test_a_cell_that_failed_after_the_definition_and_another_cell_cost_nothing(shell, cells):
    for source in (*cells, CHECK):
        shell.run(source)
    assert shell.user_ns["report"].status == "passed"


def test_the_learners_own_line_is_shown():
    def broken(q, k, keep):
        scores = q @ k.mT
        return scores.softmax(dim=7)

    text = checks.attention.weights(broken).text
    assert "IndexError" in text and "`return scores.softmax(dim=7)`" in text

    def long(q, k, keep):
        return torch.where(keep[:, None], (q @ k.mT).softmax(dim=7), torch.zeros(()), out=None) + 0 * q.sum()

    assert "`... (q @ k.mT).softmax(dim=7) ...`" in checks.attention.weights(long).text


def test_two_numbers_are_shown_in_as_many_digits_as_it_takes():
    assert told_apart(0.5, 0.75) == ("0.500", "0.750") and told_apart(0.1234, 0.1231) == ("0.1234", "0.1231")
    assert told_apart(2, 3) == ("2", "3") and told_apart(torch.tensor(1e-9), 0.0) == ("1e-09", "0")


@pytest.mark.slow
def test_numbers_of_hidden_weights_are_not_shown():
    class Bounded(exercises.solution("capstone.block")):
        def forward(self, x):
            return -1 - super().forward(x).abs()

    report = checks.capstone.block(Bounded)
    assert "Expected: " not in report.text and "Received: 210 of 210 numbers differ\n" in report.text
    assert report.figure().axes


@pytest.mark.slow
def test_a_kink_is_no_cut_gradient():
    # With this seed the long steps alone, from kink to kink, look like a cut.
    draw, module = Draw(21), torch.nn.Sequential(EncoderBlock(10, 2, 37), torch.nn.Hardtanh())
    scatter(module, draw)
    trained_by(module, draw.normal(2, 3, 10), draw, through=True)


def test_an_argument_that_was_changed_is_called_by_its_name():
    def changes(queries, k, keep):
        out = RIGHT(queries.clone(), k, keep)
        queries.mul_(2)
        return out

    assert "The argument queries is not the same" in checks.attention.weights(changes).text
    assert "Argument 1 is" in checks.attention.weights(lambda *a: changes(*a)).text


def test_what_is_wrong_stands_before_what_is_right():
    right = answers.of("attention.unnoticed").rights[0]()
    lines = checks.attention.unnoticed(lambda: right | {"traded": "moved"}).text.splitlines()
    assert [line.split()[0] for line in lines[1:7]] == ["wrong", *["right"] * 5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistake", "said", "code"),
    [
        ("view-of-transposed", "not stored in that order", lambda q: q.transpose(1, 2).view(-1)),
        ("sizes-do-not-multiply-up", "has room for 6 numbers", lambda q: q.reshape(2, 3)),
        ("sizes-do-not-multiply-up", "Without the -1, the sizes multiply to 7,", lambda q: q.reshape(-1, 7)),
        ("axes-do-not-fit", ": 5 and 4.", lambda q: q + torch.ones(4)),
        ("axes-do-not-fit", "are 5 and 6.", lambda q: q @ torch.ones(6, 5)),
        ("joined-sizes-differ", "joined", lambda q: torch.cat([q, q[:1]], dim=1)),
        ("joined-sizes-differ", "stacked", lambda q: torch.stack([q, q[:1]])),
        ("raised-error", "an error", lambda q: q.no_such_name),
    ],
)
def test_an_error_whose_cause_is_certain_is_said_in_words(mistake, said, code):
    report = EXERCISES["positions.sincos"].check(lambda grid, D: code(torch.ones(9, 10, 6, 5)))
    assert report.mistake == mistake and said in report.sentence, report.text
    assert "Error: " in report.text, "PyTorch's own words are still there"


RIGHT_SIZES, MEASURED = exercises.solution("start.sizes")(), exercises.solution("start.removed")()


def sentences(report) -> dict:
    return {part: wrong.sentence for part, wrong in report.parts if wrong}


def test_a_mistake_that_shows_in_several_parts_is_said_once():
    shapes = {"patch_tokens": (144, 1024), "into_the_encoder": (145, 1024), "logits": (1000,)}
    found = sentences(checks.start.sizes(lambda: RIGHT_SIZES | shapes))
    assert found.pop("patch_tokens").startswith("This is the shape for one image")
    assert found == dict.fromkeys(("into_the_encoder", "logits"), "The same as in patch_tokens.")


def test_what_follows_from_a_wrong_answer_is_said_to_follow():
    shapes = {"patches": 143, "patch_tokens": (8, 143, 1024), "into_the_encoder": (8, 144, 1024)}
    report = checks.start.sizes(lambda: RIGHT_SIZES | shapes)
    found = sentences(report)
    assert report.mistake == "wrong-answer" and report.score == 0.5
    assert found.pop("patches") == "143 is not right, but near."
    alone = sentences(checks.start.sizes(lambda: RIGHT_SIZES | {"patch_tokens": (8, 143, 1024)}))
    assert alone == {"patch_tokens": "(8, 143, 1024) is not right."}, "nothing follows from a right answer"
    leads = "This follows from your answer to {}: correct that one first."
    assert found == {"patch_tokens": leads.format("patches"), "into_the_encoder": leads.format("patch_tokens")}


def test_a_conclusion_is_judged_by_what_the_numbers_mean():
    numbers = {name: 100 * share for name, share in MEASURED.items() if isinstance(share, float)}
    found = sentences(checks.start.removed(lambda: MEASURED | numbers))
    assert set(found) == set(numbers) and list(found.values())[1:] == ["The same as in whole."] * 3


@pytest.mark.parametrize(
    ("guess", "measured", "said"),
    [
        (None, 0.6249, "measured ≈ 0.62; you wrote no guess"),
        (0.5, torch.tensor(0.6249), "measured ≈ 0.62; you said 0.50, 0.12 away"),
        (1, 0.6249, "measured ≈ 0.62; you said 1.00, 0.38 away"),
        (None, 1200, "it is 1,200; you wrote no guess"),
        (1000, 1200, "it is 1,200; you said 1,000, 200 away"),
        (2.5, 3, "it is 3; you said 2.5, 0.5 away"),
        (3, 3, "it is 3, as you said"),
        (None, "b", "it is b; you wrote no guess"),
        (" B ", "b", "it is b, as you said"),
        ("a", "b", "it is b; you said a"),
        ("(B)", "b", "it is b, as you said"),
        ("b)", "b", "it is b, as you said"),
        ("(a)", "b", "it is b; you said (a)"),
        # Before a figure, which gives the answer itself.
        (None, None, "you wrote no guess; the figure has the answer"),
        (" (c) ", None, "you said (c); the figure has the answer"),
        (5, None, "you said 5; the figure has the answer"),
    ],
)
def test_a_guess_stands_beside_what_was_measured(guess, measured, said):
    assert guessed(guess, measured) == said


@pytest.mark.parametrize(
    ("guess", "measured", "wanted"), [("a", 0.5, "a number, got 'a'"), (2, "b", "a letter or a word")]
)
def test_a_guess_of_another_kind_is_refused_by_name(guess, measured, wanted):
    with pytest.raises(ValueError, match=wanted):
        guessed(guess, measured)
