"""Downloads as the commands make them, from a mirror of the hub on the loopback."""

import json
import os
import re
import subprocess
import sys
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.wikitext2 import LINES, REPOSITORY, REVISION, SUBSET
from repro.data.text import HUB_SPLITS
from repro.files import read_json, read_sealed

pytestmark = pytest.mark.slow


def serve(repository, revision, files):
    """A server with what the hub's client asks of one repository. files: path -> content."""

    asked = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            path = self.path.split("?")[0]
            if match := re.fullmatch(rf"/datasets/{repository}/resolve/{revision}/(.+)", path):
                return self.send_file(match[1])
            if path == f"/api/datasets/{repository}/revision/{revision}":
                siblings = [{"rfilename": name} for name in files]
                return self.send({"id": repository, "sha": revision, "siblings": siblings})
            if match := re.fullmatch(rf"/api/datasets/{repository}/tree/{revision}/?(.*)", path):
                return self.send(listed(match[1]))
            return self.send({"error": "not found"}, 404)

        do_HEAD = do_GET

        def do_POST(self):
            asked.append(self.path)
            said = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.send([entry for name in files for entry in [described(name)] if name in said])

        def send_file(self, name):
            if name not in files:
                return self.send({}, 404, {"X-Error-Code": "EntryNotFound"})
            begin, end = 0, len(files[name])
            if part := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
                begin, end = int(part[1]), int(part[2] or end - 1) + 1
            etag = f'"{sha1(files[name]).hexdigest()}"'
            headers = {"ETag": etag, "X-Repo-Commit": revision, "Accept-Ranges": "bytes"}
            self.answer(files[name][begin:end], 206 if part else 200, headers)

        def send(self, content, status=200, headers=()):
            kind = {"Content-Type": "application/json"}
            self.answer(json.dumps(content).encode(), status, kind | dict(headers))

        def answer(self, body, status, headers):
            self.send_response(status)
            for key, value in (headers | {"Content-Length": len(body)}).items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *words):
            pass

    def described(name):
        content = files[name]
        digest = sha1(content).hexdigest()
        return {"type": "file", "path": name, "size": len(content), "oid": digest}

    def listed(folder):
        """What lies in a folder, and below it: its folders are of no size."""
        names = [name for name in files if name.startswith(folder)]
        folders = {name.rpartition("/")[0] for name in names} - {"", folder}
        below = [{"type": "directory", "path": each, "size": 0, "oid": "0"} for each in folders]
        return below + [described(name) for name in names]

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    return server, asked


def parquet(rows):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": rows}), sink)
    return sink.getvalue().to_pybytes()


def test_wikitext_is_fetched_from_a_mirror_of_the_hub_and_locked(clone, tmp_path):
    rows = {s: [f" row {i} of {s} . \n" for i in range(n)] for s, n in LINES.items()}
    files = {
        f"{SUBSET}/{HUB_SPLITS[split]}-00000-of-00001.parquet": parquet(found)
        for split, found in rows.items()
    }
    configs = "".join(
        f"  - split: {HUB_SPLITS[split]}\n    path: {SUBSET}/{HUB_SPLITS[split]}-*\n"
        for split in rows
    )
    head = f"---\nconfigs:\n- config_name: {SUBSET}\n  data_files:\n{configs}---\n"
    files["README.md"] = head.encode()
    server, asked = serve(REPOSITORY, REVISION, files)
    offline = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
    env = {name: value for name, value in os.environ.items() if name not in offline}
    env |= {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(tmp_path / "cache"),
        "HF_HUB_DISABLE_XET": "1",
        "PYTHONPATH": str(clone),
        "REPRO_CHECKOUT": str(clone),
    }
    work = tmp_path / "work"
    work.mkdir()
    call = [sys.executable, "-P", "-m", "repro", "fetch", "wikitext2", "--config", "data=real"]
    done = subprocess.run(call, cwd=work, env=env, capture_output=True, text=True)
    server.shutdown()
    assert done.returncode == 0, (done.stdout, done.stderr[-3000:], asked)
    of_data = [path for path in asked if "/datasets/" in path]  # the client asks for more
    assert of_data and all(REPOSITORY in path and REVISION in path for path in of_data)
    (manifest,) = (work / "resources" / "wikitext2").glob("*/manifest.json")
    assert read_sealed(manifest)["splits"].keys() == LINES.keys()
    lock = clone / "data" / "wikitext2.lock.json"
    assert f"first download, noted in {lock}; commit that file" in done.stdout
    assert read_json(lock)["splits"].keys() == LINES.keys()
