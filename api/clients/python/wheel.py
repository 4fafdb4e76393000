#!/usr/bin/python3 -B
"""wheel.py DIR: writes the client as one file, the same bytes each time.  The server carries that file too (api/docs/make.py)."""
import base64
import hashlib
import io
import os
import sys
import tomllib
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def read(*path):
    with open(os.path.join(HERE, *path), "rb") as file:
        return file.read()


def metadata(project):
    """PEP 643."""
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown"]
    for extra, needs in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {need}; extra == "{extra}"' for need in needs)]
    return "\n".join(lines).encode() + b"\n\n" + read(project["readme"])


def wheel():
    """The name of the file, and its bytes (PEP 427)."""
    project = tomllib.loads(read("pyproject.toml").decode())["project"]
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    about = f"{name}.dist-info"
    names = sorted(one for one in os.listdir(os.path.join(HERE, "gnomon")) if one.endswith((".py", ".typed")))
    files = {f"gnomon/{one}": read("gnomon", one) for one in names}
    files[f"{about}/METADATA"] = metadata(project)
    files[f"{about}/LICENSE"] = read("..", "..", "..", "LICENSE")
    files[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: gnomon\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    sums = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for path, data in files.items()}
    record = [f"{path},sha256={sums[path]},{len(data)}" for path, data in files.items()] + [f"{about}/RECORD,,"]
    files[f"{about}/RECORD"] = "\n".join(record).encode() + b"\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
    return f"{name}-py3-none-any.whl", packed.getvalue()


def main(folder):
    name, data = wheel()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    print(os.path.join(folder, name))


if __name__ == "__main__":
    main(sys.argv[1])
