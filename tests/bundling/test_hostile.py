"""A bundle may be broken, newer, or a stranger's: each is refused with what is wrong, and nothing of it is loaded."""

from __future__ import annotations

import hashlib
import io
import json
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bundling.stores import bundle, sessions_of
from store.story import Story, change
from turnlog.bundling.loading import unbundle
from turnlog.bundling.manifest import BadBundle
from turnlog.settings import Settings

Members = dict[str, bytes]
_DIGEST = f"sha256:{hashlib.sha256(b'what was said').hexdigest()}"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Members:
    settings = Settings(directory=tmp_path_factory.mktemp("good"))
    told = Story(settings)
    told.agent("agent", "s", "t1", "go")
    told.tool("tool", "s", "t1", "write", change("fact", "sky", "blue"))
    told.row(record="blob", start_ns=1, hash="sha256:x", text="x")
    told.writer.close()
    with zipfile.ZipFile(bundle(settings)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def members(good: Members) -> Members:
    """A good bundle, by the names of what is in it."""
    return dict(good)


def packed(members: Members, compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


def manifest(known: Members, **changes: Any) -> Members:
    return {**known, "manifest.json": json.dumps({**json.loads(known["manifest.json"]), **changes}).encode()}


def signed(members: Members, name: str, content: bytes, **claims: Any) -> Members:
    """With another member, of which the manifest says the truth but for what is claimed."""
    told = json.loads(members["manifest.json"])["members"]
    told[name] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), **claims}
    return manifest({**members, name: content}, members=told)


def parquet(members: Members, name: str, query: str, folder: Path) -> Members:
    """With a relation as a query makes it of what it was (`it`)."""
    source, target = folder / "source", folder / "target"
    source.write_bytes(members[name])
    db = duckdb.connect()
    db.execute(f"create view it as from read_parquet('{source}')")
    db.execute(f"copy ({query}) to '{target}' (format parquet)")
    (rows,) = db.execute(f"select count(*) from read_parquet('{target}')").fetchall()[0]
    db.close()
    return signed(members, name, target.read_bytes(), rows=rows)


def refusal(file: io.BytesIO, other: Settings) -> str:
    """What is said of a file, which leaves nothing behind."""
    with pytest.raises(BadBundle) as refused:
        unbundle(other, file)
    assert sessions_of(other) == []
    assert [path.name for path in other.directory.glob("unbundling-*")] == []
    assert [path.name for path in other.journals.glob("*.tmp")] == []
    return str(refused.value)


def test_a_good_one_is_loaded(members: Members, other: Settings) -> None:
    assert [each.is_same for each in unbundle(other, packed(members)).sessions] == [True]


def test_a_file_cut_anywhere_is_refused(members: Members, other: Settings) -> None:
    whole = packed(members).getvalue()
    for size in (0, 1, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        assert "it is not a whole ZIP file" in refusal(io.BytesIO(whole[:size]), other)


def test_a_changed_byte_in_any_member_is_found(members: Members, other: Settings) -> None:
    for name, content in members.items():
        if name == "manifest.json" or not content:
            continue
        spoilt = bytearray(content)
        spoilt[len(content) // 2] ^= 1
        assert refusal(packed({**members, name: bytes(spoilt)}), other) == (
            f"its {name} is not what its manifest.json says: damaged, or changed after it was written"
        )


def test_a_changed_byte_in_the_file_is_found_by_the_zip(members: Members, other: Settings) -> None:
    spoilt = bytearray(packed(members).getvalue())
    spoilt[spoilt.find(b"PAR1") + 20] ^= 1
    assert "it is not a whole ZIP file" in refusal(io.BytesIO(spoilt), other)


@pytest.mark.parametrize("version", ["schema_version", "format_version"])
def test_one_of_a_newer_turnlog_says_to_upgrade(members: Members, other: Settings, version: str) -> None:
    said = refusal(packed(manifest(members, **{version: 99, "turnlog_version": "9.9"})), other)
    assert said.startswith(f"it was written by a newer turnlog (9.9): {version} 99, and this one knows ")
    assert said.endswith("Upgrade: pip install -U turnlog")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (b"no JSON", "its manifest.json is no JSON"),
        (b"[]", "its manifest.json does not say that it is a bundle of turnlog"),
        (b'{"format": "other"}', "its manifest.json does not say that it is a bundle of turnlog"),
        (b'{"format": "turnlog-bundle"}', "its manifest.json has no format_version"),
        (
            b'{"format": "turnlog-bundle", "format_version": 1, "schema_version": 9}',
            "its manifest.json is incomplete: 'sessions'",
        ),
        (b'{"format": "turnlog-bundle", "format_version": true}', "its manifest.json has no format_version"),
    ],
)
def test_a_manifest_that_is_none_is_refused(members: Members, other: Settings, told: bytes, said: str) -> None:
    assert refusal(packed({**members, "manifest.json": told}), other) == said


def test_an_archive_without_a_manifest_or_a_member_is_refused(members: Members, other: Settings) -> None:
    assert "it has no manifest.json" in refusal(packed({"a": b"b"}), other)
    del members["spans.parquet"]
    assert refusal(packed(members), other) == "its spans.parquet is missing"


def test_names_that_lead_elsewhere_are_not_followed(members: Members, other: Settings) -> None:
    names = ("../../evil", "/tmp/evil-bundle", "..\\evil", "spans.parquet/../evil")
    unbundle(other, packed({**members, **dict.fromkeys(names, b"evil")}))
    left = {path.name for path in other.directory.parent.rglob("*")} | {path.name for path in Path("/tmp").glob("evil*")}
    assert not [name for name in left if "evil" in name]


def test_a_second_member_of_the_same_name_does_not_slip_in(members: Members, other: Settings) -> None:
    file = packed(members)
    with warnings.catch_warnings(), zipfile.ZipFile(file, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("spans.parquet", b"another")
    assert "its spans.parquet is not what its manifest.json says" in refusal(file, other)


def test_a_member_that_unpacks_to_more_than_it_says_is_not_unpacked(members: Members, other: Settings) -> None:
    bomb = {**members, "blobs.parquet": bytes(200 * 1024 * 1024)}
    file = packed(bomb, zipfile.ZIP_DEFLATED)
    assert len(file.getvalue()) < 1024 * 1024
    assert "its blobs.parquet is not what its manifest.json says" in refusal(file, other)


def test_a_member_larger_than_the_disk_is_refused_at_once(members: Members, other: Settings) -> None:
    bomb = signed(members, "blobs.parquet", b"", bytes=2**50)
    assert "there is no room for its blobs.parquet (1,125,899,906,842,624 bytes)" in refusal(packed(bomb), other)


def test_rows_that_unpack_to_more_than_any_bundle_are_refused(members: Members, other: Settings, tmp_path: Path) -> None:
    query = "select 'sha256:' || i as hash, repeat('x', 20000000) as text, 1::bigint as first_ns from range(16) as r(i)"
    bomb = packed(parquet(members, "blobs.parquet", query, tmp_path), zipfile.ZIP_DEFLATED)
    assert len(bomb.getvalue()) < 4 * 1024 * 1024
    assert "it is made to fill the disk" in refusal(bomb, other)


@pytest.mark.parametrize(
    ("name", "query", "said"),
    [
        ("spans", "select * replace ('x' as commit_id) from it", "it has a commit_id that is none: 'x'"),
        ("spans", "select * replace ('?' as state) from it", "it has a span in a state that there is not: '?'"),
        ("spans", "select * replace ('other' as session_id) from it", "it has rows of a session that it does not name"),
        (
            "sessions",
            "from it union all by name select * replace ('other' as session_id) from it",
            "it has rows of a session that it does not name",
        ),
        ("turns", "select * replace ('other' as session_id) from it", "it has rows of a session that it does not name"),
        (
            "blobs",
            f"select '{_DIGEST}' as hash, 'evil' as text, 1::bigint as first_ns",
            f"it has another text under the hash {_DIGEST} than the one that has this hash",
        ),
        (
            "spans",
            'select * exclude session_id, 1 as "Session_ID" from it',
            "its spans.parquet has columns of another type: Session_ID (INTEGER)",
        ),
        ("spans", "select * replace ('{' as attributes) from it", "it has attributes that are no JSON"),
        ("spans", "select * replace (-1::bigint as end_ns) from it", "it has an impossible end_ns: -1"),
        (
            "spans",
            "select * replace (9000000000000000000::bigint as end_ns) from it",
            "it has an impossible end_ns: 9000000000000000000",
        ),
        ("spans", "select * replace (null::varchar as process_id) from it", "it has a row without process_id"),
        (
            "spans",
            "select * replace (1 as session_id) from it",
            "its spans.parquet has columns of another type: session_id (INTEGER)",
        ),
        ("spans", "select * exclude session_id from it", "it has a row without session_id"),
        ("entries", "select * replace ((-1)::bigint as sequence) from it", "it has entries or messages in an impossible place"),
        ("sessions", "select * replace (repeat('s', 2000) as session_id) from it", "it has a session_id that is none"),
    ],
)
def test_rows_that_no_turnlog_writes_are_refused(
    members: Members, other: Settings, tmp_path: Path, name: str, query: str, said: str
) -> None:
    assert refusal(packed(parquet(members, f"{name}.parquet", query, tmp_path)), other) == said


def test_what_is_no_parquet_is_refused(members: Members, other: Settings) -> None:
    said = refusal(packed(signed(members, "turns.parquet", b"PAR1 and more")), other)
    assert said.startswith("its turns.parquet is no Parquet that can be read: ")


def test_a_count_of_rows_that_is_wrong_is_refused(members: Members, other: Settings) -> None:
    spans = members["spans.parquet"]
    assert refusal(packed(signed(members, "spans.parquet", spans, rows=7)), other) == (
        "its spans.parquet has 2 rows, and not as many as its manifest.json says"
    )


def test_a_state_that_does_not_come_out_is_said(members: Members, other: Settings) -> None:
    (known,) = json.loads(members["manifest.json"])["sessions"]
    result = unbundle(other, packed(manifest(members, sessions=[{**known, "state_hash": "sha256:0"}])))
    assert [(each.is_same, each.is_wrong) for each in result.sessions] == [(False, True)]


def test_one_of_an_older_turnlog_is_loaded_without_the_columns_that_it_had_not(
    members: Members, other: Settings, tmp_path: Path
) -> None:
    older = parquet(members, "spans.parquet", "select * exclude (resumed_lineage, lease_epoch, memory_items) from it", tmp_path)
    result = unbundle(other, packed(manifest(older, schema_version=7)))
    assert [each.is_same for each in result.sessions] == [True]


def test_a_member_that_unpacks_to_more_than_the_file_is_not_unpacked(members: Members, other: Settings) -> None:
    bomb = packed(signed(members, "blobs.parquet", bytes(64 * 1024 * 1024)), zipfile.ZIP_DEFLATED)
    assert "its blobs.parquet is larger than the whole file (67,108,864 bytes)" in refusal(bomb, other)


def test_members_that_are_packed_as_no_bundle_is_are_refused(members: Members, other: Settings) -> None:
    spoilt = bytearray(packed(members, zipfile.ZIP_LZMA).getvalue())
    spoilt[60:70] = bytes(10)
    assert refusal(io.BytesIO(spoilt), other) == "its manifest.json is packed in a way that no bundle is"


def test_long_rows_of_a_small_file_are_never_in_memory_at_once(members: Members, other: Settings, tmp_path: Path) -> None:
    query = "select 'sha256:' || i as hash, repeat('x', 1000000) as text, 1::bigint as first_ns from range(400) as r(i)"
    bomb = packed(parquet(members, "blobs.parquet", query, tmp_path), zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    try:
        assert "it is made to fill the disk" in refusal(bomb, other)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def test_a_row_longer_than_any_is_refused(members: Members, other: Settings, tmp_path: Path) -> None:
    query = "select 'sha256:1' as hash, repeat('x', 60000000) as text, 1::bigint as first_ns"
    long = packed(parquet(members, "blobs.parquet", query, tmp_path))
    assert refusal(long, other) == "it has a row of 60,000,008 bytes: no turnlog writes such"


def test_the_name_of_the_stores_folder_is_no_column(members: Members, tmp_path: Path) -> None:
    here = Settings(directory=tmp_path / "session_id=x")
    assert [each.is_same for each in unbundle(here, packed(members)).sessions] == [True]
