import hashlib
import io
import pickle
import shutil
import struct
import tarfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import numpy as np
import pytest
from refusals import refused

from data import cifar100
from repro.data.source import Source


@pytest.fixture(scope="module")
def embedded():
    return cifar100.arrays(Source("embedded"))


def test_the_embedded_images_are_the_published_ones(embedded):
    for split, rows in (("train", 5_000), ("valid", 1_000)):
        found = embedded[split]
        assert found["inputs"].shape == (rows, 3, 32, 32) and found["inputs"].dtype == np.uint8
        assert np.bincount(found["labels"]).tolist() == [rows // 10] * 10


def test_a_changed_generator_is_noticed(monkeypatch):
    monkeypatch.setattr(cifar100, "EMBEDDED", {"train": (20, 0)})
    with refused(r"cifar100 \(synthetic\): split train has SHA-256"):
        cifar100.arrays(Source("embedded"))


def test_no_image_of_valid_is_in_train(embedded):
    seen = {image.tobytes() for image in embedded["train"]["inputs"]}
    assert len(seen) == 5_000
    assert not seen & {image.tobytes() for image in embedded["valid"]["inputs"]}


def test_pixels_alone_tell_some_of_the_class_and_not_all(embedded):
    """Nearest mean of a class: over chance, 0.1, far from right: a network is needed."""
    x, y = embedded["train"]["inputs"].reshape(5_000, -1) / 255.0, embedded["train"]["labels"]
    means = np.stack([x[y == c].mean(0) for c in range(10)])
    valid = embedded["valid"]["inputs"].reshape(1_000, -1) / 255.0
    distance = ((valid[:, None] - means) ** 2).sum(2)
    accuracy = (distance.argmin(1) == embedded["valid"]["labels"]).mean()
    assert 0.12 < accuracy < 0.45


@pytest.fixture
def npz(tmp_path):
    """A folder with train.npz and test.npz."""
    rng = np.random.default_rng(0)
    for name, rows in (("train", 12), ("test", 5)):
        np.savez(
            tmp_path / f"{name}.npz",
            images=rng.integers(0, 256, size=(rows, 3, 32, 32), dtype=np.uint8),
            labels=7 * np.arange(rows),
        )
    return tmp_path


def arrays(folder):
    return cifar100.arrays(Source("folder", folder))


def test_a_folder_of_arrays_is_read_as_it_is(npz):
    found = arrays(npz)
    with np.load(npz / "test.npz") as file:
        np.testing.assert_array_equal(found["valid"]["inputs"], file["images"])
        np.testing.assert_array_equal(found["valid"]["labels"], file["labels"])
    assert found["train"]["labels"].dtype == np.int64


IMAGES = np.zeros((4, 3, 32, 32), np.uint8)
LABELS = np.arange(4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"images": IMAGES}, r"has no array 'labels', found \['images'\]"),
        ({"labels": LABELS}, r"has no array 'images', found \['labels'\]"),
        ({"images": IMAGES.transpose(0, 2, 3, 1), "labels": LABELS}, r"images \(4, 32, 32, 3\)"),
        ({"images": IMAGES / 255, "labels": LABELS}, r"float64, expected \(rows, 3, 32, 32\)"),
        ({"images": IMAGES, "labels": LABELS[:3]}, r"labels \(3,\) int64, expected one integer"),
        ({"images": IMAGES, "labels": LABELS * 1.0}, "labels .* float64, expected one integer"),
        ({"images": IMAGES, "labels": LABELS + 97}, "labels 97 to 100, expected 0 to 99"),
        ({"images": IMAGES, "labels": LABELS - 1}, "labels -1 to 2, expected 0 to 99"),
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "labels none, expected 0 to 99"),
        ({"images": IMAGES, "labels": LABELS * 0}, "has one class, nothing to tell apart"),
        ({"images": IMAGES, "labels": np.array([None] * 4)}, "cannot be read.*allow_pickle"),
        (b"PK\3\4 cut short", "cannot be read"),
    ],
)
def test_a_faulty_array_file_is_named_with_the_fault(npz, content, message):
    if isinstance(content, bytes):
        (npz / "train.npz").write_bytes(content)
    else:
        np.savez(npz / "train.npz", **content)
    with refused(message) as caught:
        arrays(npz)
    assert str(caught.value).startswith("cifar100: ") and "train.npz" in str(caught.value)


def test_classes_that_train_lacks_are_named(npz):
    np.savez(npz / "test.npz", images=IMAGES, labels=LABELS)
    with refused(r"test.npz has classes \[1, 2, 3\], which .*train.npz lacks"):
        arrays(npz)


def test_an_incomplete_folder_is_named(npz):
    (npz / "test.npz").unlink()
    with refused(r"neither train.npz and test.npz nor .*\['train.npz'\]"):
        cifar100.identity(Source("folder", npz))


class Trap:
    """Unpickling this makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.fixture
def published(tmp_path):
    """cifar-100-python/ in small, in the published format."""
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, rows in (("train", 6), ("test", 3)):
        content = {
            "data": rng.integers(0, 256, size=(rows, 3072), dtype=np.uint8),
            "fine_labels": rng.integers(0, 100, size=rows).tolist(),
        }
        (folder / name).write_bytes(pickle.dumps(content))
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": ["a"]}))
    return folder


@pytest.fixture
def trusted(published, monkeypatch):
    """The small files' MD5 in place of the published ones."""
    from torchvision.datasets import CIFAR100

    def md5(name):
        return hashlib.md5((published / name).read_bytes()).hexdigest()

    monkeypatch.setattr(CIFAR100, "train_list", [["train", md5("train")]])
    monkeypatch.setattr(CIFAR100, "test_list", [["test", md5("test")]])
    monkeypatch.setattr(CIFAR100, "meta", CIFAR100.meta | {"md5": md5("meta")})
    monkeypatch.setattr(cifar100, "ROWS", {"train": 6, "valid": 3})
    return published


@pytest.mark.parametrize("place", ["itself", "parent", "renamed"])
def test_the_published_files_are_read_through_torchvision(trusted, place):
    folder = trusted if place == "itself" else trusted.parent
    if place == "renamed":
        folder = trusted.rename(trusted.with_name("images"))
    found = arrays(folder)
    for split, name in (("train", "train"), ("valid", "test")):
        directory = folder if (folder / name).exists() else trusted
        content = pickle.loads((directory / name).read_bytes())
        expected = content["data"].reshape(-1, 3, 32, 32)
        np.testing.assert_array_equal(found[split]["inputs"], expected)
        assert found[split]["labels"].tolist() == content["fine_labels"]


class Python2(pickle._Pickler):
    """Writes bytes as Python 2 wrote its `str`, which CIFAR-100's keys and pixels are."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_str(self, value):
        short = len(value) < 256
        size = bytes([len(value)]) if short else struct.pack("<i", len(value))
        self.write((pickle.SHORT_BINSTRING if short else pickle.BINSTRING) + size + value)

    dispatch[bytes] = save_str


def python2(content):
    file = io.BytesIO()
    Python2(file, protocol=2).dump(content)
    return file.getvalue()


def published_archive(tmp_path):
    """cifar-100-python.tar.gz in small, as it is published: pickles of Python 2 with labels of both
    kinds and file names, a folder's entry and a leftover of its author's editor."""
    rng = np.random.default_rng(1)
    members = {"file.txt~": b""}
    for name, rows in (("train", 6), ("test", 3)):
        content = {
            b"filenames": [b"bos_taurus_s_000507.png"] * rows,
            b"batch_label": f"{name}ing batch 1 of 1".encode(),
            b"fine_labels": rng.integers(0, 100, size=rows).tolist(),
            b"coarse_labels": rng.integers(0, 20, size=rows).tolist(),
            b"data": rng.integers(0, 256, size=(rows, 3072), dtype=np.uint8),
        }
        members[name] = python2(content)
    names = {b"fine_label_names": [b"apple", b"aquarium_fish"], b"coarse_label_names": [b"fish"]}
    members["meta"] = python2(names)
    path = tmp_path / "cifar-100-python.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        folder = tarfile.TarInfo("cifar-100-python")
        folder.type = tarfile.DIRTYPE
        folder.mode = 0o755
        archive.addfile(folder)
        for name, content in members.items():
            entry = tarfile.TarInfo(f"cifar-100-python/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path, members


@pytest.fixture
def server(tmp_path):
    """The address under which a folder's files can be downloaded."""

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def test_the_published_archive_is_downloaded_checked_and_read(tmp_path, monkeypatch, server):
    from torchvision.datasets import CIFAR100

    def md5(content):
        return hashlib.md5(content).hexdigest()

    path, members = published_archive(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(CIFAR100, "url", f"{server}/{path.name}")
    with refused(r"fetched \(File not found or corrupted.*cifar100=FOLDER"):
        cifar100.arrays(Source("real"))  # its MD5 is not the published one
    shutil.rmtree(tmp_path / "resources")
    monkeypatch.setattr(CIFAR100, "tgz_md5", md5(path.read_bytes()))
    monkeypatch.setattr(CIFAR100, "train_list", [["train", md5(members["train"])]])
    monkeypatch.setattr(CIFAR100, "test_list", [["test", md5(members["test"])]])
    monkeypatch.setattr(CIFAR100, "meta", CIFAR100.meta | {"md5": md5(members["meta"])})
    monkeypatch.setattr(cifar100, "ROWS", {"train": 6, "valid": 3})
    downloaded = cifar100.arrays(Source("real"))
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "extracted", filter="data")
    from_folder = arrays(tmp_path / "extracted")
    for split, name in (("train", "train"), ("valid", "test")):
        content = pickle.loads(members[name], encoding="bytes")
        for found in (downloaded[split], from_folder[split]):
            expected = content[b"data"].reshape(-1, 3, 32, 32)
            np.testing.assert_array_equal(found["inputs"], expected)
            assert found["labels"].tolist() == content[b"fine_labels"]


@pytest.mark.parametrize("name", ["train", "test", "meta"])
def test_a_pickle_that_is_not_the_published_one_is_never_opened(trusted, tmp_path, name):
    (trusted / name).write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with refused(rf"cifar100: .*{name} has MD5 .*expected the published"):
        arrays(trusted)
    assert not (tmp_path / "sprung").exists()


def test_another_number_of_images_is_refused(trusted, monkeypatch):
    monkeypatch.setattr(cifar100, "ROWS", {"train": 50_000, "valid": 10_000})
    with refused(r"images \(6, 3, 32, 32\), expected \(50000, 3, 32, 32\)"):
        arrays(trusted)


def test_a_failed_download_ends_in_one_line_with_the_way_out(tmp_path, monkeypatch):
    from torchvision.datasets import CIFAR100

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(CIFAR100, "url", (tmp_path / "nowhere.tar.gz").as_uri())
    with refused(r"could not be fetched.*cifar100=FOLDER"):
        cifar100.arrays(Source("real"))
