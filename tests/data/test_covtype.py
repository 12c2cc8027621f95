import gzip
import subprocess

import numpy as np
import pytest
from refusals import refused

from data import covtype
from repro.core import discovery
from repro.core.suite import load
from repro.data.arrays import load_arrays
from repro.data.needs import Tokens
from repro.data.prepare import prepare, tokenize
from repro.data.source import Source
from repro.files import read_json, sha256


@pytest.fixture(scope="module")
def table():
    """400 rows of the synthetic table: features, then the label from 1 to 7."""
    from repro.data.synthetic_table import cover_table

    return cover_table(400)


@pytest.fixture
def uci(tmp_path, table):
    """A folder with UCI's file."""
    write(tmp_path / "covtype.data", table)
    return tmp_path


def write(path, table, header=None):
    lines = [",".join(map(str, row)) for row in table]
    lines = [header] * (header is not None) + lines
    path.write_text("".join(f"{line}\n" for line in lines))


def arrays(folder):
    return covtype.arrays(Source("folder", folder))


def test_the_embedded_table_is_the_published_one():
    found = covtype.arrays(Source("embedded"))
    assert {split: a["inputs"].shape for split, a in found.items()} == {
        "train": (12_000, 54),
        "valid": (3_000, 54),
    }
    assert all(np.bincount(a["labels"], minlength=7).min() > 0 for a in found.values())


def test_a_changed_generator_is_noticed(monkeypatch):
    monkeypatch.setattr(covtype, "EMBEDDED_ROWS", 100)
    with refused(r"covtype \(synthetic\): the table has SHA-256 .*expected"):
        covtype.arrays(Source("embedded"))


def test_the_table_has_the_schema_of_the_real_one(table):
    assert table.shape == (400, 55)
    for part in (table[:, 10:14], table[:, 14:54]):
        assert set(np.unique(part)) == {0, 1} and (part.sum(1) == 1).all()
    assert set(table[:, -1]) == set(range(1, 8))


def test_the_split_keeps_the_share_of_every_class(uci, table):
    found = arrays(uci)
    total = np.bincount(table[:, -1] - 1)
    valid = np.bincount(found["valid"]["labels"])
    assert len(found["valid"]["labels"]) == 80
    assert np.abs(valid - 0.2 * total).max() < 1


def test_train_and_valid_are_the_rows_each_once(uci, table):
    """Binary features are untouched, so with the labels they are counted against the table."""
    found = arrays(uci)
    rows = np.concatenate(
        [np.column_stack([a["inputs"][:, 10:], a["labels"] + 1]) for a in found.values()]
    )
    expected = table[:, 10:].astype(float)
    order = [np.lexsort(a.T) for a in (rows, expected)]
    np.testing.assert_array_equal(rows[order[0]], expected[order[1]])


def test_standardisation_uses_the_train_part_alone(uci, table):
    found = arrays(uci)
    train = found["train"]["inputs"][:, :10]
    np.testing.assert_allclose(train.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(train.std(0), 1, atol=1e-6)
    valid = found["valid"]["inputs"][:, :10]
    assert np.abs(valid.mean(0)).max() > 0.02, "valid was standardised by itself"
    assert train.dtype == valid.dtype == np.float32


def test_a_constant_feature_becomes_zero_not_nan(tmp_path, table):
    table = table.copy()
    table[:, 2] = 5
    write(tmp_path / "covtype.data", table)
    assert (arrays(tmp_path)["valid"]["inputs"][:, 2] == 0).all()


def test_uci_s_file_its_gz_and_kaggle_s_columns_in_any_order_are_the_same_data(tmp_path, table):
    folders = [tmp_path / name for name in ("plain", "gz", "kaggle")]
    for folder in folders:
        folder.mkdir()
    write(folders[0] / "covtype.data", table)
    data = (folders[0] / "covtype.data").read_bytes()
    (folders[1] / "covtype.data.gz").write_bytes(gzip.compress(data))
    names = ["Id", *covtype.FEATURES, covtype.LABEL]
    order = np.random.default_rng(0).permutation(len(names))
    numbered = np.column_stack([np.arange(1, 401), table])
    header = ",".join(names[i] for i in order)
    write(folders[2] / "train.csv", numbered[:, order], header)
    first, *others = map(arrays, folders)
    for other in others:
        for split in first:
            for name in first[split]:
                np.testing.assert_array_equal(first[split][name], other[split][name])


def test_a_missing_file_is_named(tmp_path):
    with refused(r"covtype: .* holds none of covtype\.data, .*train\.csv"):
        covtype.identity(Source("folder", tmp_path))


def test_two_files_are_one_too_many(uci):
    (uci / "train.csv").write_text("Id\n")
    with refused(r"holds covtype\.data and train\.csv .*exactly one"):
        covtype.identity(Source("folder", uci))


def test_missing_columns_are_named(tmp_path, table):
    names = [n for n in (*covtype.FEATURES, covtype.LABEL) if n not in ("Slope", "Soil_Type7")]
    write(tmp_path / "train.csv", table[:, : len(names)], ",".join(names))
    with refused(r"has no column Slope, Soil_Type7; expected .*found 53"):
        arrays(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[:, :54], "has 54 columns, expected 54 features and the label"),
        (lambda t: set_cell(t, 6, 3, "high"), r"line 7 has 'high' in column 4, expected a number"),
        (lambda t: set_cell(t, 6, 3, ""), r"line 7 has '' in column 4, expected a number"),
        (lambda t: set_cell(t, 6, 3, "1_0"), r"line 7 has '1_0' in column 4, expected a number"),
        (lambda t: set_cell(t, 6, 3, "nan"), r"line 7 has 'nan' in column 4"),
        (lambda t: set_cell(t, 2, 54, 8), "line 3 has label 8, expected 1 to 7"),
        (lambda t: set_cell(t, 2, 54, 0), "line 3 has label 0, expected 1 to 7"),
        (lambda t: set_cell(t, 2, 54, 1.5), "line 3 has label 1.5, expected 1 to 7"),
        (lambda t: set_cell(t, 4, 20, 3), "line 5 has 3 in Soil_Type7, expected 0 or 1"),
        (lambda t: t[:3], r"line \d is the only row of its class, \d, .* leave that line out"),
        (lambda t: t[:0], "has no rows"),
        (lambda t: t[t[:, 54] == t[0, 54]], "rows of one class, nothing to tell apart"),
        (lambda t: set_cell(t, 6, 3, "1e308"), r"reaches 1e\+308, too large to standardise"),
    ],
)
def test_a_faulty_table_is_named_with_the_fault(tmp_path, table, change, message):
    write(tmp_path / "covtype.data", change(table.astype(object)))
    with refused(message) as caught:
        arrays(tmp_path)
    assert str(caught.value).startswith("covtype: ")


def set_cell(table, row, column, value):
    table = table.copy()
    table[row, column] = value
    return table


def test_a_line_cut_short_is_named(uci):
    data = (uci / "covtype.data").read_text()
    (uci / "covtype.data").write_text(data[: len(data) - 30])
    with refused(r"line 400 has \d+ cells, expected 55"):
        arrays(uci)


SEPARATED = {"tabs": "\t", "semicolons": ";", "bars": "|"}


@pytest.mark.parametrize("name", SEPARATED)
def test_another_separator_is_named_and_what_converts_it(uci, name):
    """Found in review: every line was to be mended or removed."""
    file = uci / "covtype.data"
    file.write_text(file.read_text().replace(",", SEPARATED[name]))
    with refused(f"covtype.data has {name} between its cells, expected commas; convert it") as told:
        arrays(uci)
    new = uci / "new"
    call = str(told.value).split("convert it: ")[1].replace("OLD", str(file))
    subprocess.run(call.replace("NEW", str(new)), shell=True, check=True)
    new.replace(file)
    assert len(arrays(uci)["train"]["labels"]) == 320


def test_what_gzip_packed_is_read_whatever_its_name(uci, table):
    """Found in review: "is it truncated?" of a file that a browser had unpacked, and of one packed
    by hand."""
    expected = arrays(uci)["train"]["inputs"]
    file = uci / "covtype.data"
    plain = file.read_bytes()
    file.write_bytes(gzip.compress(plain))
    np.testing.assert_array_equal(arrays(uci)["train"]["inputs"], expected)
    file.unlink()
    (uci / "covtype.data.gz").write_bytes(plain)
    np.testing.assert_array_equal(arrays(uci)["train"]["inputs"], expected)


def kaggle(folder, table, change=lambda lines: lines):
    """Kaggle's train.csv of a table; change: of its lines."""
    header = ",".join([*covtype.FEATURES, covtype.LABEL])
    write(folder / "train.csv", table, header)
    lines = (folder / "train.csv").read_text().splitlines()
    (folder / "train.csv").write_text("\n".join(change(lines)) + "\n")
    return folder


def quoted(line):
    return ",".join(f'"{cell}"' for cell in line.split(","))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        # Found in review, each with a line that was another's, or none.
        (lambda s: [*map(quoted, s[:50]), quoted("," + s[50].split(",", 1)[1]), *s[51:]],
         "line 51 has '' in column 1 "),
        (lambda s: [*s[:9], "", "\uff11\uff12," + s[9].split(",", 1)[1], *s[10:]],
         "line 11 has '\uff11\uff12' in column 1 .*digits 0 to 9"),
        (lambda s: [f"{line},{i or 'Elevation'}" for i, line in enumerate(s)],
         "has column 'Elevation' twice; leave one of them"),
        (lambda s: [*s[:9], "", s[9].rsplit(",", 1)[0] + ",9", *s[10:]],
         "line 11 has label 9, expected 1 to 7"),
        (lambda s: [s[0], s[1].rsplit(",", 1)[0] + ",7"]
         + [line for line in s[2:] if not line.endswith(",7")],
         "line 2 is the only row of its class, 7, and each needs one .*; leave that line out"),
    ],
)  # fmt: skip
def test_a_fault_of_kaggle_s_file_is_named_by_the_file_s_own_line(tmp_path, table, change, says):
    with refused(says):
        arrays(kaggle(tmp_path, table, change))


def test_a_quoted_file_with_a_mark_of_the_byte_order_is_the_same(tmp_path, table):
    for name in ("plain", "quoted"):
        (tmp_path / name).mkdir()
    first = arrays(kaggle(tmp_path / "plain", table))
    marked = kaggle(tmp_path / "quoted", table, lambda lines: [*map(quoted, lines)])
    (marked / "train.csv").write_text((marked / "train.csv").read_text(), "utf-8-sig")
    np.testing.assert_array_equal(first["train"]["inputs"], arrays(marked)["train"]["inputs"])


def test_any_table_is_data_for_the_mlp(tmp_path, monkeypatch):
    """Its model has as many inputs and classes; runs of other data keep their ids."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kinds = ("oak", "fir", "elm")
    rows = [f"{x:.3f},{kinds[i % 3]},{i % 2}" for i, x in enumerate(rng.normal(size=90))]
    (tmp_path / "table.csv").write_text("\n".join(["size,label,wet", *rows]) + "\n")
    found = arrays(tmp_path)
    assert {split: a["inputs"].shape for split, a in found.items()} == {
        "train": (72, 2), "valid": (18, 2)
    }  # fmt: skip
    assert np.bincount(found["train"]["labels"]).tolist() == [24, 24, 24]
    assert {*found["train"]["inputs"][:, 1]} == {0, 1}, "binary, and so as it is"
    np.testing.assert_allclose(found["train"]["inputs"][:, 0].mean(), 0, atol=1e-6)
    for key, study in {
        "covtype": "upscaling/mlp_adamw/tune",
        "covtype_long": "transfer/mlp",
    }.items():
        its = load(["scale=smoke", f"{key}={tmp_path}"])
        name = next(n for n in discovery.study_names() if n.startswith(study))
        model = its.cells(name)[0].runs[0].spec["model"]
        assert (model["inputs"], model["classes"]) == (2, 3)
    assert load(["scale=smoke"]).cells(name)[0].runs[0].spec["model"]["inputs"] == 54


def test_a_table_without_a_label_says_what_to_name_so(tmp_path):
    (tmp_path / "table.csv").write_text("size,kind\n1,2\n3,4\n")
    with refused("has no column label, found size, kind; name the column of the classes so"):
        arrays(tmp_path)
    (tmp_path / "table.csv").write_text("size,label\nbig,2\n3,4\n")
    with refused(r"line 2 has 'big' in column 1 \(size\), expected a number"):
        arrays(tmp_path)


def test_a_truncated_archive_is_named(uci):
    packed = gzip.compress((uci / "covtype.data").read_bytes())
    (uci / "covtype.data").unlink()
    (uci / "covtype.data.gz").write_bytes(packed[: len(packed) // 2])
    with refused("cannot be unpacked after line .*truncated"):
        arrays(uci)


def test_another_size_than_uci_s_is_refused(monkeypatch):
    import sklearn.datasets

    found = (np.zeros((10, 54)), np.ones(10))
    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", lambda return_X_y: found)
    with refused("has 10 rows of 54 features, expected 581012 of 54"):
        covtype.arrays(Source("real"))


def test_a_failed_download_ends_in_one_line_with_the_way_out(monkeypatch):
    import sklearn.datasets

    def fail(return_X_y):
        raise OSError("its SHA256 checksum differs from expected\nfile corrupted")

    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", fail)
    with refused(r"checksum differs.*covtype=FOLDER"):
        covtype.arrays(Source("real"))


def test_the_identity_follows_the_content_not_the_place(uci, tmp_path, table):
    source = Source("folder", uci)
    first = covtype.identity(source)
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "covtype.data").write_bytes((uci / "covtype.data").read_bytes())
    assert covtype.identity(Source("folder", moved)) == first
    write(moved / "covtype.data", table[::-1])
    assert covtype.identity(Source("folder", moved)) != first
    assert len({str(covtype.identity(Source(k, uci))) for k in ("embedded", "real", "folder")}) == 3


@pytest.fixture
def prepared(uci, tmp_path):
    source = Source("folder", uci)
    manifest = tmp_path / "out" / "manifest.json"
    prepare(covtype, source, covtype.identity(source), manifest)
    return source, manifest


def test_prepared_arrays_are_read_back(prepared):
    source, manifest = prepared
    found = load_arrays(manifest)
    for split, entry in covtype.arrays(source).items():
        for name, array in entry.items():
            np.testing.assert_array_equal(found[split][name], array)
            stated = read_json(manifest)["arrays"][f"{split}.{name}"]
            assert stated == {"shape": list(array.shape), "dtype": str(array.dtype)}
    file = manifest.parent / "arrays.safetensors"
    assert read_json(manifest)["sha256"] == {file.name: sha256(file.read_bytes())}


@pytest.mark.parametrize("damage", ["flip", "remove"])
def test_damaged_arrays_are_refused(prepared, damage):
    file = prepared[1].parent / "arrays.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data) if damage == "flip" else file.unlink()
    with refused(r"arrays\.safetensors: is missing or changed.*delete"):
        load_arrays(prepared[1])


def test_arrays_have_no_tokens(prepared, tmp_path):
    source, manifest = prepared
    with refused("covtype: is not text"):
        tokenize(covtype, source, manifest, Tokens("covtype", 512), tmp_path / "t" / "tokens.json")
