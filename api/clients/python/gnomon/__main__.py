"""python3 -m gnomon import-optuna STORAGE [--study NAME]; also `gnomon study`, `work` and the like, which the program hands over."""
from __future__ import annotations

import argparse
import importlib
import os
import re
import sqlite3
import sys
from typing import Iterable, List, Optional, Sequence

from . import GnomonError, connect, migrate


COMMANDS = {"study": ("studies", "COMMAND"), "work": ("work", "COMMAND"), "notify": ("notify", "COMMAND"),
            "run": ("run", "COMMAND"), "export": ("files", "EXPORT"), "import": ("files", "IMPORT")}


def histories(storage: str, names: Sequence[str]) -> Iterable[migrate.History]:
    file = re.sub(r"^sqlite(\+\w+)?:///", "", storage)
    if "://" not in file and os.path.isfile(file) and migrate.is_journal(file):
        return migrate.from_journal(file, names)
    if "://" not in file:
        return migrate.from_sqlite(file, names)
    if not storage.startswith("redis"):
        return migrate.from_database(storage, names)
    import optuna
    names = names or [found.study_name for found in optuna.get_all_study_summaries(storage, include_best_trial=False)]
    return (migrate.from_optuna(optuna.load_study(study_name=name, storage=storage)) for name in names)


def import_optuna(options: argparse.Namespace) -> int:
    client = connect(options.url, options.token)
    found = list(histories(options.storage, [options.study] if options.study else []))
    if options.name and len(found) != 1:
        print(f"gnomon: --name is for one study, and there are {len(found)}; --study says which", file=sys.stderr)
        return 64
    failed = 0
    for history in found:
        try:
            made = migrate.plan(history, options.name)
            for note in made.notes:
                print(f"{history.name}: {note}", file=sys.stderr)
            said = migrate.apply(client, made, options.dry_run)
        except (GnomonError, ValueError) as failure:  # those behind it come in all the same
            print(f"gnomon: {history.name} is left out: {failure}", file=sys.stderr)
            failed += 1
            continue
        said["imported"] -= said["queued"]
        print(f"{made.name}: " + ", ".join(f"{said[what]} {what}" for what in ("imported", "queued", "duplicates", "skipped"))
              + (" (dry run)" if options.dry_run else f" into {said['study']}"))
    return 1 if failed else 0


def main(arguments: Optional[List[str]] = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in COMMANDS:
        from . import shell
        module, record = COMMANDS[words[0]]
        return shell.execute(getattr(importlib.import_module(f".{module}", __package__), record), words[1:])
    parser = argparse.ArgumentParser("python3 -m gnomon")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("import-optuna", help="studies of an Optuna storage, with all their trials")
    command.add_argument("storage", help="a file of SQLite, a journal, or what Optuna calls a storage: postgresql://...")
    command.add_argument("--study", help="which; all without it")
    command.add_argument("--name", help="what it shall be called here")
    command.add_argument("--dry-run", action="store_true", help="say what would be imported")
    command.add_argument("--url", help="the service; GNOMON_SERVER")
    command.add_argument("--token", help="GNOMON_TOKEN")
    command.set_defaults(run=import_optuna)
    options = parser.parse_args(words)
    try:
        code: int = options.run(options)
        return code
    except (GnomonError, ValueError, KeyError, ImportError, sqlite3.Error) as failure:
        print(f"gnomon: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
