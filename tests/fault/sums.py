"""The sums of a store's rows, made as the service makes them (db/sum.h), for tests that write to a store themselves; and the
total of its rows with the chain of its log (db/writer/chain.h), as somebody makes them anew who can write to its file."""
import contextlib
import hashlib
import os
import re
import sqlite3
import struct

MASK = (1 << 64) - 1


def step(total, word):
    total = ((total ^ word) * 0x9e3779b97f4a7c15) & MASK
    return total ^ total >> 32


def add(total, kind, data):
    total = step(total, (len(data) << 8 | kind) & MASK)
    for start in range(0, len(data), 8):
        total = step(total, int.from_bytes(data[start:start + 8], "little"))
    return total


def piece(value):
    """Its kind and its bytes."""
    if isinstance(value, float) and -9e15 < value < 9e15 and value == int(value):
        value = int(value)
    if value is None:
        return 1, b""
    if isinstance(value, int):
        return 2, struct.pack("<q", value)
    if isinstance(value, float):
        return 3, struct.pack("<d", value)
    return (4, value.encode()) if isinstance(value, str) else (5, bytes(value))


def row_sum(*values):
    total = 0
    for value in values:
        total = add(total, *piece(value))
    return total - (1 << 64) if total >> 63 else total


def columns_of(store, table):
    return [row[1] for row in store.execute(f"PRAGMA table_info({table})") if row[1] != "sum"]


def tables_of(store):
    """Those whose rows have sums."""
    names = [name for name, in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return [name for name in names if any(row[1] == "sum" for row in store.execute(f"PRAGMA table_info({name})"))]


def make(store, table):
    """Makes the sums of a table's rows anew, after a test has changed them."""
    store.create_function("row_sum", -1, row_sum)
    store.execute(f"UPDATE {table} SET sum = row_sum({', '.join(columns_of(store, table))})")


def opened(path):
    store = sqlite3.connect(path, isolation_level=None)
    store.text_factory = lambda text: text.decode(errors="surrogateescape")
    return store


class Unguarded:
    """A store without its triggers, which are back at the end; like: another one, whose triggers it has then."""

    def __init__(self, folder, like=None):
        self.store, self.like = opened(folder + "/gnomon.db"), like

    def __enter__(self):
        self.triggers = self.store.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in self.triggers:
            self.store.execute(f"DROP TRIGGER {name}")
        if self.like is not None:
            with contextlib.closing(sqlite3.connect(f"file:{self.like}?immutable=1", uri=True)) as other:
                self.triggers = other.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        return self.store

    def __exit__(self, *_):
        for _, sql in self.triggers:
            self.store.execute(sql)
        self.store.close()


# ---- what is bound to the log ----

def loose():
    """Of db/sum.c: the columns that are not bound, by table."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "db", "sum.c"), encoding="utf-8") as file:
        rows = re.findall(r'^    \{"(\w+)", "([^"]+)",\s+"([^"]+)"\},$', file.read(), re.MULTILINE)
    assert len(rows) > 5 and all(len(why) > 10 for *_, why in rows), f"no list in db/sum.c: {rows}"
    return {table: columns.split(",") for table, columns, _ in rows}


def total_of(store):
    """The total of all rows, as it is stored."""
    lanes, listed = [0] * 32, loose()
    names = [name for name, in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    for name in names:
        columns = [column for column in columns_of(store, name) if not {column, "*"} & set(listed.get(name, ()))]
        for row in store.execute(f"SELECT {', '.join(columns)} FROM {name}") if columns else ():
            pieces = [struct.pack("<qB", len(data), kind) + data for kind, data in map(piece, (name, *row))]
            digest = hashlib.sha256(b"".join(pieces)).digest()
            wide = b"".join(hashlib.sha512(digest + bytes([i])).digest() for i in range(4))
            lanes = [(lane + more) & MASK for lane, more in zip(lanes, struct.unpack("<32Q", wide))]
    return struct.pack("<32Q", *lanes)


def field(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(">q", -1) if data is None else struct.pack(">q", len(data)) + data


LINE = "at_ms, kind, study, project, revision, trial, actor, detail, salt, erased, bound"


def digest_line(at_ms, kind, study, project, revision, trial, actor, detail, salt, erased, bound):
    words = erased if detail is None else hashlib.sha256((salt or b"") + detail.encode()).digest()
    return hashlib.sha256(b"".join([struct.pack(">q", at_ms), field(kind), field(study), field(project), struct.pack(">qq", revision, trial),
                                    field(actor), field(words), field(bound or None)])).digest()


def seal(store):
    """Binds the rows, as they are, to the last line of the log, and chains it anew: everything that has no key is forged."""
    total = total_of(store)
    store.execute("UPDATE event SET bound = ? WHERE seq = (SELECT max(seq) FROM event)", (hashlib.sha256(total).digest(),))
    seq, head = store.execute("SELECT first_seq, first_head FROM chain").fetchone()
    digests = [(line, digest_line(*of)) for line, *of in store.execute(f"SELECT seq, {LINE} FROM event WHERE seq > ?", (seq,))]
    for first, last, gone in store.execute("SELECT first, last, digests FROM log_gap WHERE first > ?", (seq,)):
        digests += [(first + i, gone[32 * i:32 * i + 32]) for i in range(last - first + 1)]
    for seq, digest in sorted(digests):
        head = hashlib.sha256(b"gnomon/log/v1".ljust(16, b"\0") + struct.pack(">q", seq) + head + digest).digest()
    store.execute("UPDATE chain SET seq = ?, head = ?, total = ?, at_ms = (SELECT at_ms FROM event WHERE seq = ?)", (seq, head, total, seq))
    make(store, "event")
