"""What is registered before the runs that judge it, as git has it."""

import csv
import re
from dataclasses import fields, replace

import pytest
from refusals import refused
from repositories import forget, git

from repro.core import discovery, rows, seeds
from repro.core.config import is_data_label
from repro.core.study import Proposal
from repro.core.suite import load
from repro.files import write_json
from repro.lineage import history
from repro.lineage.checkout import ROOT
from repro.products import explain, records
from repro.verdicts import badge as badges
from repro.verdicts import preregistration
from repro.verdicts.badge import badge, waiting
from repro.verdicts.preregistration import Registered, introduced, registered

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
    window="an epoch",
    widths="16 to 256",
    arms="narrow 4; wide 2",
    grid="half octaves, 7 points",
    power=0.95,
    told=0.7,
    error=0.04,
    seconds=90.0,
    known="-0.1 at reduced scale",
)
JUDGED = {
    "test": "fig1.one",
    "scale": "reduced",
    "data": "embedded",
    "bound": {"text": BOUND},
    "figure": "p/fig1",
}


REMEMBERS = (
    preregistration.at_commit,
    preregistration.arms_at,
    introduced,
    badges._tree,
    badges._first,
)


class Checkout:
    """A checkout of a suite that has a register and nothing else."""

    def __init__(self, root):
        self.root = root
        (root / "studies" / "p").mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        self.write()
        self.commit("the register, with its head alone")

    def write(self, *entries, paper="p"):
        rows.write(preregistration.path(paper), Registered, entries)
        forget(*REMEMBERS)

    def register(self, *entries):
        """Commit rows, then the seeds of their arms; returns the commit that runs may be of."""
        self.write(*entries)
        self.derive(self.commit("registered"))
        return self.commit("seeds")

    def derive(self, commit, **numbers):
        asked = numbers or {"narrow": 4, "wide": 2}
        found = {
            arm: seeds.Arm(arm, commit, " ".join(map(str, seeds.derived(commit, arm, n))))
            for arm, n in asked.items()
        }
        rows.write(seeds.path("p"), seeds.Arm, [*(seeds.arms("p") | found).values()])
        forget(*REMEMBERS)

    def commit(self, message="more"):
        git(self.root, "add", ".")
        git(self.root, "commit", "-q", "--allow-empty", "-m", message)
        forget(*REMEMBERS)
        return git(self.root, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    root = tmp_path / "suite"
    root.mkdir()
    monkeypatch.setattr(rows, "ROOT", root)
    for module in (preregistration, badges):
        monkeypatch.setattr(module, "ROOT", root)
    forget(*REMEMBERS)
    yield Checkout(root)
    forget(*REMEMBERS)


def run():
    """The seeds of every arm."""
    return [seed for arm in seeds.arms("p").values() for seed in arm.numbers]


def made(*commits, seeds=None):
    entries = [{"commit": commit} for commit in commits]
    return {"made": entries, "seeds": run() if seeds is None else seeds}


def shown(*commits, seeds=None, **changes):
    return str(badge(JUDGED | changes, made(*commits, seeds=seeds)))


def test_a_row_before_the_runs_is_registered_before(checkout):
    at = checkout.register(ROW)
    later = checkout.commit("code that changes no row")
    assert shown(at) == shown(later) == shown(at, later) == "registered before"
    assert shown(at, seeds=[*run(), 7, 8]) == "registered before", "another claim's arms"


def test_a_row_of_another_branch_that_was_merged_before_the_runs_counts(checkout):
    git(checkout.root, "checkout", "-q", "-b", "aside")
    checkout.register(ROW)
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
    first = checkout.register(ROW)
    checkout.write(ROW, replace(ROW, bound="-0.1 to 0.1"))
    checkout.derive(checkout.commit("registered anew"))
    second = checkout.commit("seeds anew")
    several = "the claim has 2 rows; number"
    old = [s for arm in preregistration.arms_at("p", first).values() for s in arm.numbers]
    assert shown(first, seeds=old) == f"registered before: {several} 1 was there"
    assert (
        shown(second, bound={"text": "-0.1 to 0.1"}) == f"registered before: {several} 2 was there"
    )
    assert shown(second) == (
        "not registered before: it was registered as '-0.1 to 0.1', and judged by '-0.2 to 0.2'"
    )
    assert shown(first, second) == "not registered before: a new row was added between its runs"


def test_other_seeds_than_the_registered_are_named(checkout):
    """A forgery of a review: seeds that somebody picked, or a set that was replaced."""
    at = checkout.register(ROW)
    first = seeds.arms("p")["narrow"].numbers[0]
    assert shown(at, seeds=[s for s in run() if s != first]) == (
        f"not registered before: seeds of arm narrow that were not run: {first}"
    )
    assert shown(at, seeds=[2000, 2001]).startswith("not registered before: seeds of arm narrow")


def test_seeds_of_another_commit_than_the_row_s_are_named(checkout):
    """Who looks for a commit whose seeds suit, and then adds the row, is noticed."""
    earlier = checkout.commit("without the row")
    checkout.write(ROW)
    checkout.commit("registered")
    checkout.derive(earlier)
    at = checkout.commit("seeds")
    assert shown(at) == (
        "not registered before: the seeds of arm narrow are of a commit without its row"
    )


def test_seeds_that_came_after_the_runs_are_named(checkout):
    checkout.write(ROW)
    at = checkout.commit("registered")
    checkout.derive(at)
    checkout.commit("seeds")
    assert shown(at) == (
        f"not registered before: the seeds of arm narrow are younger than runs of commit {at[:12]}"
    )


def test_runs_of_other_code_than_their_commit_s_are_named(checkout):
    """A forgery of a review: a record whose commit was replaced by another one."""
    at = checkout.register(ROW)
    tree = git(checkout.root, "rev-parse", f"{at}:studies")
    true = {"made": [{"commit": at, "trees": {"studies": tree}}], "seeds": run()}
    assert badge(JUDGED, true).word == "registered before"
    true["made"][0]["trees"]["studies"] = "0" * 40
    assert badge(JUDGED, true).reason == f"runs are not of the code of commit {at[:12]}"


@pytest.mark.parametrize("form", ["tests", "claims"], ids=["of today", "of before"])
def test_numbers_that_are_others_than_the_first_record_s_are_shown_beside_them(checkout, form):
    """A forgery of a review: the judging code changed after the runs."""
    at = checkout.register(ROW)
    numbers = {"measured": 0.1, "low": 0.0, "high": 0.15, "n": 2, "p": 0.01}
    first = numbers | {"status": "reproduced"}
    then = JUDGED | first
    if form == "claims":  # what records had before there were statements
        then = {"claim": JUDGED["test"], "verdict": "reproduced", **numbers}
    data = {"data_sha256": "d", form: [then]}
    place = checkout.root / "records/reduced/embedded/cpu/p/fig1.json"
    write_json(place, data)
    checkout.commit("record")
    write_json(place, {"data_sha256": "d", "tests": [JUDGED | first | {"measured": 0.3}]})
    checkout.commit("judged anew")
    of = made(at) | {"data_sha256": "d"}
    assert str(badge(JUDGED | first, of)) == "registered before"
    calibrated = {"low": -0.02, "high": 0.16, "calibration": 1.2, "p": 0.02}
    assert str(badge(JUDGED | first | calibrated, of)) == "registered before"
    for other in ({"high": 0.16}, calibrated | {"calibration": 1.0}, {"status": "inconclusive"}):
        assert "judged anew" in str(badge(JUDGED | first | other, of))
    assert badge(JUDGED | first | {"measured": 0.3, "status": "not reproduced"}, of).reason == (
        "judged anew: it was reproduced, 0.1 [0, 0.15]"
    )


def test_data_that_do_not_say_of_which_seeds_they_are(checkout):
    provenance = {"made": [{"commit": checkout.register(ROW)}]}
    assert badge(JUDGED, provenance).reason == "its data do not say of which seeds they are"


def test_runs_of_no_clean_commit_of_this_history_are_not(checkout):
    at = checkout.register(ROW)
    git(checkout.root, "checkout", "-q", "-b", "aside")
    foreign = checkout.commit("of no history that is kept")
    git(checkout.root, "checkout", "-q", "main")
    forget(*REMEMBERS)
    no = "not registered before: runs"
    assert shown(f"{at}+dirty") == f"{no} are of commit {at[:12]} with changed files"
    assert shown(foreign) == (
        f"{no} are of commit {foreign[:12]}, which this history does not have"
    )
    assert shown("f" * 40).endswith("which this history does not have")
    assert shown(None) == f"{no} name no commit"
    assert shown().startswith("not registered before: nothing was run")


def test_runs_of_two_versions_of_their_code_are_not(checkout):
    commits = [checkout.register(ROW), checkout.commit()]
    entries = [
        {"commit": commit, "modules": ["repro.tasks.x"], "code_sha256": code * 64, "runs": 2}
        for commit, code in zip(commits, "ab", strict=True)
    ]
    found = badge(JUDGED, {"made": entries, "seeds": run()})
    assert found.word == "not registered before"
    assert found.reason.startswith("runs of several versions of their code: repro.tasks.x aaaa")
    assert badge(JUDGED, {"made": entries[:1], "seeds": run()}).word == "registered before"


def test_another_scale_or_claim_is_not_registered(checkout):
    at = checkout.register(ROW)
    for other in ({"scale": "smoke"}, {"data": "real"}, {"test": "fig1.two"}, {"figure": "q/fig1"}):
        assert shown(at, **other) == "not registered"


@pytest.mark.parametrize(
    ("clone", "why", "whole"),
    [
        ("--depth=1", "the clone is shallow; git fetch --unshallow", "--unshallow"),
        (
            "--filter=blob:none",
            "the clone is partial; git fetch --refetch --no-filter",
            "--refetch --no-filter",
        ),
    ],
)
def test_a_clone_of_less_knows_nothing_and_says_what_to_do(
    checkout, tmp_path, monkeypatch, clone, why, whole
):
    """Found by a trial: of a shallow clone every row was of its one commit, from which seeds were
    derived; of a partial one, without a network, no row was there before any run."""
    at = checkout.register(ROW)
    checkout.register(replace(ROW, known="again"))
    git(checkout.root, "config", "uploadpack.allowFilter", "true")
    less = tmp_path / "less"
    git(tmp_path, "clone", "-q", clone, f"file://{checkout.root}", str(less))
    monkeypatch.setattr(rows, "ROOT", less)
    for module in (preregistration, badges):
        monkeypatch.setattr(module, "ROOT", less)
    forget(*REMEMBERS)
    assert shown(at) == f"unknown here: {why}"
    assert {*preregistration.introduced("p")} == {""}
    assert str(waiting("p", ROW, BOUND)) == "registered, runs not yet made"
    git(less, "fetch", "-q", *whole.split())
    forget(*REMEMBERS)
    assert "registered before" in shown(at) and "" not in preregistration.introduced("p")


@pytest.mark.parametrize("how", ["no git", "no clone"])
def test_without_git_nothing_is_known(checkout, monkeypatch, how):
    at = checkout.register(ROW)
    if how == "no git":
        monkeypatch.setenv("PATH", "")
    else:
        (checkout.root / ".git").rename(checkout.root / "moved")
    forget(*REMEMBERS)
    assert shown(at) == "unknown here: this is no clone, or there is no git"
    assert str(waiting("p", ROW, BOUND)) == "registered, runs not yet made"
    assert introduced("p") == [""]
    assert shown(at, scale="smoke") == "not registered", "which needs no git"


def test_before_the_runs_it_says_what_is_still_to_be_done(checkout):
    checkout.write(ROW)
    assert waiting("p", ROW, BOUND).reason == "the row is not committed; commit it before any run"
    at = checkout.commit()
    assert waiting("p", ROW, BOUND).reason == "arm narrow has no seeds yet; python -m repro seeds p"
    checkout.derive(at)
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
    """Two calls for each commit that runs name and a few besides, however many claims there are."""
    first = checkout.register(*(replace(ROW, claim=f"fig1.{i}") for i in range(40)))
    commits = [first, *(checkout.commit() for _ in range(2))]
    calls = []
    call = history._call
    monkeypatch.setattr(history, "_call", lambda *a, **k: calls.append(a) or call(*a, **k))
    for i in range(40):
        assert shown(*commits, test=f"fig1.{i}") == "registered before"
    assert len(calls) <= 3 + 3 + 3 + 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"power": "0.8"}, "power 0.8 is below 0.9; plan more seeds"),
        ({"power": "nan"}, "power 'nan' is no number; write it as 0.95"),
        ({"power": "95"}, "are no shares and seconds"),
        ({"error": "0.06"}, "error 0.06 is above 0.05; plan a stricter test"),
        ({"told": "0.5"}, "told 0.5 is below 0.6; plan more seeds"),
        ({"seconds": "-1"}, "are no shares and seconds"),
        ({"scale": "reducd"}, "unknown scale 'reducd', did you mean 'reduced'"),
        ({"data": "fake"}, "unknown data 'fake'"),
        ({"arms": "2000-2007"}, "'2000-2007' are no names with numbers; write: narrow 24"),
        ({"why": " "}, "why is empty"),
        ({"known": '"two\nlines"'}, "known has a line break"),
    ],
)
def test_a_row_that_is_not_as_it_should_be_is_refused_in_a_line(checkout, change, message):
    names = [field.name for field in fields(Registered)]
    cells = {name: f'"{getattr(ROW, name)}"' for name in names} | change
    text = ",".join(names) + "\n" + ",".join(cells.values()) + "\n"
    (checkout.root / preregistration.path("p")).write_text(text)
    with refused() as caught:
        rows.read(preregistration.path("p"), Registered)
    assert message in str(caught.value)
    assert str(caught.value).startswith("studies/p/registered.csv, line ")


def test_a_row_of_no_claim_is_refused(checkout):
    checkout.write(replace(ROW, claim=f"{CLAIM}x"), paper=PAPER)
    with refused(rf"line 2: unknown claim .*did you mean '{CLAIM}'"):
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
    assert is_data_label(label, discovery.dataset_names()) == right


def test_seeds_of_a_figure_s_runs_are_those_of_its_data():
    suite = load([])
    (base,) = records.recorded(suite, "effective_theory/fig3")
    with base.with_suffix(".csv").open(newline="") as lines:
        made = {int(float(row["seed"])) for row in csv.DictReader(lines)}
    assert suite.seeds("effective_theory/fig3") == sorted(made)


def test_a_search_in_a_grid_is_shown_in_words():
    """Found in review: `repro show registered` printed the points that a search may add as code."""
    points = " ".join(
        str(Proposal("", "lr", ("lr", "wd"), n, "loss", ("seed",), ((-1, 0), (1, 0))))
        for n in range(2)
    )
    row = replace(ROW, grid=f"lr: 0.5 {points} 1 {points}; parametrization: muP SP")
    (line,) = [line for line in row.lines if "grid: " in line]
    words = "lr: 0.5 1 and those that a search adds; parametrization: muP SP"
    assert f"; grid: {words}; seeds: " in line


@pytest.mark.slow  # asks git of every row
def test_all_that_is_registered_is_listed_what_is_no_test_now_too():
    lines = explain.registered([]).splitlines()
    for paper in discovery.papers():
        for row in registered(paper):
            assert any(re.match(rf"{paper}/{row.claim}[,:]", line) for line in lines)


def test_the_command_shows_rows_and_badges(checkout, monkeypatch, tmp_path):
    assert explain.registered([]) == explain.NONE_REGISTERED
    assert explain.registered([CLAIM]) == f"{PAPER}/{CLAIM}: not registered"
    monkeypatch.setattr(records, "RECORDS", tmp_path / "records")
    bound = str(explain.find_test(CLAIM)[2].at("reduced"))
    checkout.write(replace(ROW, claim=CLAIM, bound=bound), paper=PAPER)
    at = checkout.commit()
    for words in ([], [CLAIM], [f"{PAPER}/{CLAIM}"]):
        lines = explain.registered(words).splitlines()
        assert lines[:2] == [
            f"{PAPER}/{CLAIM}, reduced scale, embedded data",
            "  registered, runs not yet made: arm narrow has no seeds yet; "
            f"python -m repro seeds {PAPER}",
        ]
        assert lines[2].startswith(f"  in studies/{PAPER}/registered.csv: commit {at[:12]}, 20")
        assert f"    bound: {bound} (half of the rival's)" in lines
        said = "power 0.95, told at the recorded value 0.7, error 0.04, 90 s of a core"
        assert f"    planned: {said}" in lines
    with refused("did you mean"):
        explain.registered([f"{CLAIM}s"])
