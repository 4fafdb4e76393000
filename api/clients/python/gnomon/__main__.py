"""python3 -m gnomon import-optuna STORAGE [--study NAME]"""
from __future__ import annotations

import argparse
import sys
from typing import List, Optional

from . import GnomonError, connect


def import_optuna(options: argparse.Namespace) -> int:
    import optuna

    from .migrate import apply, plan
    storage = options.storage if "://" in options.storage else f"sqlite:///{options.storage}"
    names = [options.study] if options.study else [
        found.study_name for found in optuna.get_all_study_summaries(storage, include_best_trial=False)]
    if options.name and len(names) != 1:
        print(f"gnomon: --name is for one study, and there are {len(names)}; --study says which", file=sys.stderr)
        return 64
    client = connect(options.url, options.token)
    for name in names:
        made = plan(optuna.load_study(study_name=name, storage=storage), options.name)
        for note in made.notes:
            print(f"{name}: {note}", file=sys.stderr)
        said = apply(client, made, options.dry_run)
        print(f"{made.name}: " + ", ".join(f"{said[what]} {what}" for what in ("imported", "queued", "duplicates", "skipped"))
              + (" (dry run)" if options.dry_run else f" into {said['study']}"))
    return 0


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser("python3 -m gnomon")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("import-optuna", help="studies of an Optuna storage, with all their trials")
    command.add_argument("storage", help="a file of SQLite, or what Optuna calls a storage: postgresql://...")
    command.add_argument("--study", help="which; all without it")
    command.add_argument("--name", help="what it shall be called here")
    command.add_argument("--dry-run", action="store_true", help="say what would be imported")
    command.add_argument("--url", help="the service; GNOMON_URL")
    command.add_argument("--token", help="GNOMON_TOKEN")
    command.set_defaults(run=import_optuna)
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
        return code
    except (GnomonError, ValueError, KeyError, ImportError) as failure:
        print(f"gnomon: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
