"""What is registered before the runs that judge it, as git has it."""

import csv
import subprocess
from dataclasses import fields, replace

import pytest

from repro.errors import UserError
from repro.judge import explain, records, register
from repro.judge.register import Registered, badge, introduced, registered, waiting
from repro.suite import history, registry, rows
from repro.suite.checkout import ROOT
from repro.suite.config import is_data_label
from repro.suite.suite import load

PAPER, CLAIM = "upscaling", "fig3.transfer-lr-mlp-sgd"
BOUND = "-0.2 to 0.2"
ROW = Registered(
    scale="reduced",
    data="embedded",
    claim="fig1.one",
    estimator="Student's t over slopes of seeds",
    bound=BOUND,
    why="half of the rival's",
    rivals="SP -1, no effect",
    widths="16 to 256",
    seeds="2000-2003",
    extension="2004-2005",
    grid="half octaves, 7 points",
    power=0.95,
    error=0.04,
    hours=1.5,
    known="-0.1 at reduced scale",
)
JUDGED = {
    "paper": "p",
    "claim": "fig1.one",
    "scale": "reduced",
    "data": "embedded",
    "expected": BOUND,
}
SEEDS = [2000, 2001, 2002, 2003]


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    call = ["git", *identity, "-C", str(folder), *words]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


def forget():
    for cached in (history.commits, history._is_checkout, register.at_commit, introduced):
        cached.cache_clear()


class Checkout:
    """A checkout of a suite that has a register and nothing else."""

    def __init__(self, root):
        self.root = root
        (root / "studies" / "p").mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        self.write()
        self.commit("the register, with its head alone")

    def write(self, *entries, paper="p"):
        rows.write(register.path(paper), Registered, entries)
        forget()

    def commit(self, message="more"):
        git(self.root, "add", ".")
        git(self.root, "commit", "-q", "--allow-empty", "-m", message)
        forget()
        return git(self.root, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    root = tmp_path / "suite"
    root.mkdir()
    monkeypatch.setattr(rows, "ROOT", root)
    monkeypatch.setattr(register, "ROOT", root)
    forget()
    yield Checkout(root)
    forget()


def made(*commits, seeds=SEEDS):
    return {"made": [{"commit": commit} for commit in commits], "seeds": seeds}


def shown(*commits, seeds=SEEDS, **changes):
    return str(badge(JUDGED | changes, made(*commits, seeds=seeds)))


def test_a_row_before_the_runs_is_registered_before(checkout):
    checkout.write(ROW)
    at = checkout.commit("registered")
    later = checkout.commit("code that changes no row")
    assert shown(at) == shown(later) == shown(at, later) == "registered before"
    assert shown(at, seeds=[*SEEDS, 2004, 2005]) == "registered before", "with its extension"


def test_a_row_of_another_branch_that_was_merged_before_the_runs_counts(checkout):
    git(checkout.root, "checkout", "-q", "-b", "aside")
    checkout.write(ROW)
    checkout.commit("registered")
    git(checkout.root, "checkout", "-q", "main")
    before = checkout.commit("meanwhile")
    git(checkout.root, "merge", "-q", "aside", "-m", "merged")
    after = checkout.commit()
    assert shown(after) == "registered before"
    assert shown(before) == (
        f"not registered before: the row is younger than runs of commit {before[:12]}"
    )


def test_a_row_after_the_runs_is_not(checkout):
    runs = checkout.commit("runs")
    checkout.write(ROW)
    at = checkout.commit("registered")
    words = f"not registered before: the row is younger than runs of commit {runs[:12]}"
    assert shown(runs) == shown(at, runs) == words


def test_an_edited_row_is_not(checkout):
    checkout.write(replace(ROW, bound="-0.1 to 0.1"))
    runs = checkout.commit("registered")
    checkout.write(ROW)
    assert shown(runs) == (
        f"not registered before: the row was edited after runs of commit {runs[:12]}"
    )


def test_rows_are_added_and_the_last_one_counts_for_later_runs(checkout):
    checkout.write(ROW)
    first = checkout.commit("registered")
    checkout.write(ROW, replace(ROW, bound="-0.1 to 0.1"))
    second = checkout.commit("registered anew")
    several = "the claim has 2 rows; number"
    assert shown(first) == f"registered before: {several} 1 was there"
    assert shown(second, expected="-0.1 to 0.1") == f"registered before: {several} 2 was there"
    assert shown(second) == (
        "not registered before: it was registered as '-0.1 to 0.1', and judged by '-0.2 to 0.2'"
    )
    assert shown(first, second) == "not registered before: a new row was added between its runs"


@pytest.mark.parametrize(
    ("seeds", "reason"),
    [
        ([*SEEDS, 7, 9], "seeds beyond the registered: 7, 9"),
        ([2000, 2001], "seeds that were registered and not run: 2002, 2003"),
        ([*SEEDS, 2004], "seeds of the extension that were not run: 2005"),
        ([*SEEDS, 2010], "seeds beyond the registered: 2010"),
    ],
)
def test_other_seeds_than_the_registered_are_named(checkout, seeds, reason):
    elsewhere = [
        replace(ROW, claim="fig2.one", seeds="7-9"),
        replace(ROW, scale="paper", seeds="7"),
    ]
    checkout.write(ROW, *elsewhere)
    assert shown(checkout.commit(), seeds=seeds) == f"not registered before: {reason}"


def test_claims_of_a_figure_may_have_seeds_of_their_own(checkout):
    checkout.write(ROW, replace(ROW, claim="fig1.two", seeds="2010-2012"))
    at = checkout.commit()
    assert shown(at, seeds=[*SEEDS, 2010, 2011, 2012]) == "registered before"


def test_seeds_that_only_choose_may_stand_in_the_estimator_s_words(checkout):
    words = f"{ROW.estimator}; the sweep has one seed, 0, the base is of seeds 2020 to 2022"
    checkout.write(replace(ROW, estimator=words))
    at = checkout.commit()
    assert shown(at, seeds=[0, *SEEDS, 2020, 2021, 2022]) == "registered before"
    assert shown(at, seeds=[0, *SEEDS, 2020, 2023]) == (
        "not registered before: seeds beyond the registered: 2023"
    )


def test_data_that_do_not_say_of_which_seeds_they_are(checkout):
    checkout.write(ROW)
    provenance = {"made": [{"commit": checkout.commit()}]}
    assert badge(JUDGED, provenance).reason == "its data do not say of which seeds they are"


def test_runs_of_no_clean_commit_of_this_history_are_not(checkout):
    checkout.write(ROW)
    at = checkout.commit("registered")
    git(checkout.root, "checkout", "-q", "-b", "aside")
    foreign = checkout.commit("of no history that is kept")
    git(checkout.root, "checkout", "-q", "main")
    forget()
    no = "not registered before: runs"
    assert shown(f"{at}+dirty") == f"{no} are of commit {at[:12]} with changed files"
    assert shown(foreign) == (
        f"{no} are of commit {foreign[:12]}, which this history does not have"
    )
    assert shown("f" * 40).endswith("which this history does not have")
    assert shown(None) == f"{no} name no commit"
    assert shown().startswith("not registered before: nothing was run")


def test_runs_of_two_versions_of_their_code_are_not(checkout):
    checkout.write(ROW)
    commits = [checkout.commit(), checkout.commit()]
    entries = [
        {"commit": commit, "modules": ["repro.tasks.x"], "code_sha256": code * 64, "runs": 2}
        for commit, code in zip(commits, "ab", strict=True)
    ]
    found = badge(JUDGED, {"made": entries, "seeds": SEEDS})
    assert found.word == "not registered before"
    assert found.reason.startswith("runs of several versions of their code: repro.tasks.x aaaa")
    assert badge(JUDGED, {"made": entries[:1], "seeds": SEEDS}).word == "registered before"


def test_another_scale_or_claim_is_not_registered(checkout):
    checkout.write(ROW)
    at = checkout.commit()
    for other in ({"scale": "smoke"}, {"data": "real"}, {"claim": "fig1.two"}, {"paper": "q"}):
        assert shown(at, **other) == "not registered"


def test_a_shallow_clone_knows_nothing_and_says_what_to_do(checkout, tmp_path, monkeypatch):
    checkout.write(ROW)
    at = checkout.commit()
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{checkout.root}", str(shallow))
    monkeypatch.setattr(rows, "ROOT", shallow)
    monkeypatch.setattr(register, "ROOT", shallow)
    forget()
    words = "unknown here: the clone is shallow; git fetch --unshallow"
    assert shown(at) == words
    assert str(waiting("p", ROW, BOUND)) == "registered, runs not yet made"
    git(shallow, "fetch", "-q", "--unshallow")
    forget()
    assert shown(at) == "registered before"


@pytest.mark.parametrize("how", ["no git", "no clone"])
def test_without_git_nothing_is_known(checkout, monkeypatch, how):
    checkout.write(ROW)
    at = checkout.commit()
    if how == "no git":
        monkeypatch.setenv("PATH", "")
    else:
        (checkout.root / ".git").rename(checkout.root / "moved")
    forget()
    assert shown(at) == "unknown here: this is no clone, or there is no git"
    assert str(waiting("p", ROW, BOUND)) == "registered, runs not yet made"
    assert introduced("p") == [""]
    assert shown(at, scale="smoke") == "not registered", "which needs no git"


def test_before_the_runs_it_says_what_is_still_to_be_done(checkout):
    checkout.write(ROW)
    assert waiting("p", ROW, BOUND).reason == "the row is not committed; commit it before any run"
    checkout.commit()
    assert str(waiting("p", ROW, BOUND)) == "registered, runs not yet made"
    assert waiting("p", ROW, "below 0").reason.startswith("the claim expects 'below 0' today")


def test_each_row_has_the_commit_that_brought_it(checkout):
    checkout.write(ROW)
    first = checkout.commit()
    checkout.write(ROW, other := replace(ROW, scale="paper"))
    second = checkout.commit()
    third = replace(ROW, data="real")
    checkout.write(ROW, other, replace(other, data="real"), third)
    checkout.commit()
    checkout.write(ROW, other, replace(other, data="real"), third, replace(ROW, scale="smoke"))
    found = introduced("p")
    assert [found[0][:19], found[1][:19]] == [f"commit {first[:12]}", f"commit {second[:12]}"]
    assert found[2] == found[3] != found[1]
    assert found[4] == ""


def test_a_history_of_many_runs_takes_little_of_git(checkout, monkeypatch):
    """A call for each commit that runs name and a few besides, however many claims there are."""
    checkout.write(*(replace(ROW, claim=f"fig1.{i}") for i in range(40)))
    commits = [checkout.commit() for _ in range(3)]
    calls = []
    call = history._call
    monkeypatch.setattr(history, "_call", lambda *a, **k: calls.append(a) or call(*a, **k))
    for i in range(40):
        assert shown(*commits, claim=f"fig1.{i}") == "registered before"
    assert len(calls) == 3 + 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"power": "0.8"}, "power 0.8 is below 0.9; plan more seeds"),
        ({"power": "nan"}, "power 'nan' is no number; write it as 0.95"),
        ({"power": "95 %"}, "power '95 %' is no number"),
        ({"power": "95"}, "are no shares and hours"),
        ({"error": "0.06"}, "error 0.06 is above 0.05; plan a stricter test"),
        ({"error": ""}, "error '' is no number"),
        ({"hours": "-1"}, "are no shares and hours"),
        ({"scale": "reducd"}, "unknown scale 'reducd', did you mean 'reduced'"),
        ({"data": "fake"}, "unknown data 'fake'"),
        ({"seeds": "eight"}, "seeds 'eight' are no seeds; write them as 2000-2007 2010"),
        ({"extension": "2003-2005"}, "seed 2003 is in seeds and in extension"),
        ({"why": " "}, "why is empty"),
        ({"known": '"two\nlines"'}, "known has a line break"),
    ],
)
def test_a_row_that_is_not_as_it_should_be_is_refused_in_a_line(checkout, change, message):
    names = [field.name for field in fields(Registered)]
    cells = {name: f'"{getattr(ROW, name)}"' for name in names} | change
    text = ",".join(names) + "\n" + ",".join(cells.values()) + "\n"
    (checkout.root / register.path("p")).write_text(text)
    with pytest.raises(UserError) as refused:
        rows.read(register.path("p"), Registered)
    assert message in str(refused.value) and "\n" not in str(refused.value)
    assert str(refused.value).startswith("studies/p/registered.csv, line ")


def test_a_row_of_no_claim_is_refused(checkout):
    checkout.write(replace(ROW, claim=f"{CLAIM}x"), paper=PAPER)
    with pytest.raises(UserError, match=rf"line 2: unknown claim .*did you mean '{CLAIM}'"):
        registered(PAPER)
    checkout.write(replace(ROW, claim=CLAIM), paper=PAPER)
    assert [row.claim for row in registered(PAPER)] == [CLAIM]


def test_every_paper_s_register_is_as_it_should_be():
    """Also where it has no row yet: the head is there, so that a row is all that is added."""
    for folder in sorted((ROOT / "studies").iterdir()):
        if (folder / "printed.csv").exists():
            assert (folder / "registered.csv").exists()
        registered(folder.name)


@pytest.mark.parametrize(
    ("label", "right"),
    [
        ("embedded", True),
        ("real", True),
        ("embedded+covtype=real", True),
        ("embedded+covtype=folder-0123abcd+wikitext2=real", True),
        ("embedded+wikitext2=real+covtype=real", False),
        ("real+covtype=real", False),
        ("embedded+covtyp=real", False),
        ("embedded+covtype", False),
        ("", False),
    ],
)
def test_labels_of_data(label, right):
    assert is_data_label(label, registry.dataset_names()) == right


def test_seeds_of_a_figure_s_runs_are_those_of_its_data():
    suite = load([])
    (base,) = records.recorded(suite, "embedding_lr/fig1")
    with base.with_suffix(".csv").open(newline="") as lines:
        made = {int(row["seed"]) for row in csv.DictReader(lines)}
    assert suite.seeds("embedding_lr/fig1") == sorted(made)


def test_the_command_shows_rows_and_badges(checkout, monkeypatch, tmp_path):
    assert explain.registered([]) == explain.NONE_REGISTERED
    assert explain.registered([CLAIM]) == f"{PAPER}/{CLAIM}: not registered"
    monkeypatch.setattr(records, "RECORDS", tmp_path / "records")
    bound = str(explain.find_claim(CLAIM)[2].at("reduced"))
    checkout.write(replace(ROW, claim=CLAIM, bound=bound), paper=PAPER)
    at = checkout.commit()
    for words in ([], [CLAIM], [f"{PAPER}/{CLAIM}"]):
        lines = explain.registered(words).splitlines()
        assert lines[:2] == [
            f"{PAPER}/{CLAIM}, reduced scale, embedded data",
            "  registered, runs not yet made",
        ]
        assert lines[2].startswith(f"  in studies/{PAPER}/registered.csv: commit {at[:12]}, 20")
        assert f"    bound: {bound} (half of the rival's)" in lines
        assert "    planned: power 0.95, error 0.04, 1.5 core-hours" in lines
    with pytest.raises(UserError, match="did you mean"):
        explain.registered([f"{CLAIM}s"])
