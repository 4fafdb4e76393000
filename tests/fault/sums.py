"""The sums of a store's rows, made as the service makes them (db/sum.h), for tests that write to a store themselves."""
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


def row_sum(*values):
    total = 0
    for value in values:
        if isinstance(value, float) and -9e15 < value < 9e15 and value == int(value):
            value = int(value)
        if value is None:
            total = add(total, 1, b"")
        elif isinstance(value, int):
            total = add(total, 2, struct.pack("<q", value))
        elif isinstance(value, float):
            total = add(total, 3, struct.pack("<d", value))
        elif isinstance(value, str):
            total = add(total, 4, value.encode())
        else:
            total = add(total, 5, bytes(value))
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
