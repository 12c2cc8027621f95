"""What stands in the work folder where the suite makes a folder of its own."""

from pathlib import Path

import pytest
from refusals import refused

from repro.core import paths


@pytest.mark.parametrize("name", paths.FOLDERS)
def test_a_file_or_a_broken_link_in_place_of_a_folder_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths.check_folders()
    Path(name).touch()
    with refused(f"^{name}: a file is where a folder should be, move it"):
        paths.check_folders()
    Path(name).unlink()
    Path(name).symlink_to("nowhere")
    with refused(f"^{name}: a file is where"):
        paths.check_folders()
    (tmp_path / "nowhere").mkdir()
    paths.check_folders()
