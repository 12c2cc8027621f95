"""Numbers of docs/transfer.md that are on record."""

import re

import pytest

from repro.files import read_json
from repro.lineage.checkout import ROOT

PAGE = " ".join((ROOT / "docs" / "transfer.md").read_text().split())


@pytest.mark.parametrize("scale", ["reduced", "overnight"])
def test_what_is_said_of_the_embedding_s_rate_is_on_record(scale):
    record = read_json(ROOT / f"records/{scale}/embedded/cpu/transfer/leaderboard.json")
    rows = [*record["tests"], *record["readings"]]
    found = {each.get("reading", each.get("test")): each for each in rows}
    share = found["leaderboard.embedding-alone"]
    said = "{measured:.2f} [{low:.2f}, {high:.2f}]"
    assert said.format(**share) in PAGE
    assert re.search(r"gain ([\d.]+) nats", share["detail"])[1] in PAGE
    apart = found["leaderboard.full-alignment-beats-mup"]
    assert said.replace("2f", "3f").format(**apart) in PAGE
    regret = found["leaderboard.sp-regret-decoder"]
    if scale == "reduced":
        assert f"SP loses {regret['measured']:.3f} nats" in PAGE
        assert "muP 0.0000" in regret["detail"] and "full-alignment 0.0000" in regret["detail"]
