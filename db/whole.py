#!/usr/bin/python3 -B
"""whole.py MIGRATION...  What the migrations make of an empty store, as statements: the schema as it is now and its first rows."""
import sqlite3
import sys

# The values that each store has of its own.
OWN = {
    ("witness", "store"): "lower(hex(randomblob(16)))",
    ("project", "created_ms"): "1000 * unixepoch()",
    ("project", "updated_ms"): "1000 * unixepoch()",
}

memory = sqlite3.connect(":memory:")
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        memory.executescript(file.read())
objects = memory.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type <> 'table', rowid").fetchall()
made = [sql for _, name, sql in objects if not name.startswith("sqlite_")]
tables = [name for kind, name, _ in objects if kind == "table"]
rows = ["ANALYZE sqlite_schema", "DELETE FROM sqlite_stat1"] if "sqlite_stat1" in tables else []
for table in tables:
    columns = [row[1] for row in memory.execute(f"PRAGMA table_info({table})")]
    for row in memory.execute(f"SELECT {', '.join(f'quote({column})' for column in columns)} FROM {table}"):
        values = (OWN.get((table, column), value) for column, value in zip(columns, row))
        rows.append(f"INSERT INTO {table}({', '.join(columns)}) VALUES ({', '.join(values)})")
at = sum(kind == "table" and not name.startswith("sqlite_") for kind, name, _ in objects)
for statement in (*made[:at], *rows, *made[at:], *rows[:1]):
    print(statement + ";")
