"""make.py OUT: the pages under /docs, static HTML made of the guides of the tree and of openapi.yaml, into the file OUT as rows of
a table in C, and with them the Python client at /clients.  A link that leads nowhere ends it."""
import glob
import gzip
import hashlib
import html
import json
import os
import posixpath
import re
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "api", "clients", "python"))
import wheel  # noqa: E402
SECTIONS = [  # what a reader wants, and the pages for it: name, file, title
    ("Start", [
        ("first-python", "docs/start/python.md", "Your first study, in Python"),
        ("first-curl", "docs/start/curl.md", "Five minutes with curl"),
        ("first-curator", "docs/start/curator.md", "Your first private study, for the owner of the data")]),
    ("How to", [
        ("many-gpus", "docs/howto/many-gpus.md", "Tune with eight GPUs, or on eighty machines"),
        ("slurm", "docs/howto/slurm.md", "Run on a Slurm cluster"),
        ("resume", "docs/howto/resume.md", "Resume after a crash"),
        ("failing-runs", "docs/howto/failing-runs.md", "Deal with runs that fail"),
        ("mixtures", "docs/howto/mixtures.md", "Mix shares, split a total"),
        ("stop-bad-runs", "docs/howto/stop-bad-runs.md", "Stop bad runs early"),
        ("several-objectives", "docs/howto/several-objectives.md", "Optimise several objectives"),
        ("targets", "docs/howto/targets.md", "Hit a value, or land in a range"),
        ("from-optuna", "docs/howto/move-from-optuna.md", "Move from Optuna"),
        ("moving", "api/clients/python/MOVING.md", "Move from Ax or SigOpt"),
        ("private-rows", "docs/howto/private-rows.md", "Keep rows private"),
        ("together", "docs/howto/federation.md", "Tune together with others"),
        ("proxy", "docs/howto/proxy.md", "Put gnomon behind nginx or Caddy"),
        ("backup", "docs/howto/backup.md", "Back up every night")]),
    ("Concepts", [
        ("words", "docs/concepts/glossary.md", "Words"),
        ("algorithms", "docs/concepts/algorithms.md", "Which algorithm, and when"),
        ("promises", "docs/concepts/promises.md", "Promises and limits"),
        ("secure-aggregation", "docs/concepts/secure-aggregation.md", "A federation that trusts no server"),
        ("security", "SECURITY.md", "Security: whom gnomon withstands")]),
    ("Everything about", [
        ("studies", "service/study/GUIDE.md", "Studies: spaces, constraints, objectives, algorithms"),
        ("stopping", "engine/stopping/GUIDE.md", "Stopping runs early"),
        ("transfer", "engine/transfer/GUIDE.md", "Starting from earlier studies"),
        ("curator", "service/curator/GUIDE.md", "The private setting"),
        ("federations", "service/federation/GUIDE.md", "Federations"),
        ("games", "service/game/GUIDE.md", "Games"),
        ("graphs", "engine/planning/GUIDE.md", "Graphs: informative paths"),
        ("images", "engine/bos2/GUIDE.md", "Images"),
        ("python", "api/clients/python/GUIDE.md", "The Python client"),
        ("typescript", "api/clients/typescript/GUIDE.md", "The TypeScript client"),
        ("command-line", "service/cli/GUIDE.md", "The command line: a program for each trial"),
        ("export", "service/portable/EXPORT.md", "The format of an export"),
        ("compatibility", "api/COMPATIBILITY.md", "What may change")]),
    ("Operate", [
        ("operation", "deploy/README.md", "Installation, TLS, tokens, backups, metrics"),
        ("spare", "deploy/SPARE.md", "A server of PostgreSQL, and its spare"),
        ("runbook", "deploy/RUNBOOK.md", "When something is wrong")]),
]
GUIDES = [guide for _, guides in SECTIONS for guide in guides]
PAGE_OF = {file: name for name, file, _ in GUIDES}
METHODS = ("get", "put", "post", "patch", "delete")


def escape(text):
    return html.escape(str(text), quote=True)


def slug(text):
    """As GitHub makes it, so that links between the files hold in both places."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", text).lower()).replace(" ", "-")


class Page:
    def __init__(self, name, title, file=""):
        self.name, self.title, self.file, self.parts, self.ids = name, title, file, [], set()

    def put(self, text):
        self.parts.append(text)

    def head(self, level, text, identifier, inner=None):
        while identifier in self.ids:
            identifier += "-1"
        self.ids.add(identifier)
        self.put(f'<h{level} id="{escape(identifier)}">{inner or inline(text, self.file)}</h{level}>')

    def whole(self):
        return ('<!doctype html><html lang="en"><head><meta charset="utf-8">'
                '<meta name="viewport" content="width=device-width">'
                f'<title>{escape(self.title)} - gnomon</title><link rel="stylesheet" href="{"docs/" if self.name == "index" else ""}style.css">'
                '</head><body><nav>' + "".join(f'<a href="{to}">{what}</a>' for to, what in (
                    (("docs", "Documentation"), ("docs/reference", "Reference"), ("docs/problems", "Problems"), ("./", "gnomon"))
                    if self.name == "index" else
                    (("../docs", "Documentation"), ("reference", "Reference"), ("problems", "Problems"), ("../", "gnomon")))) +
                "</nav><main>" + "\n".join(self.parts) + "</main></body></html>\n")


# ---- the Markdown of this tree ----

def link(target, words, file):
    """A page of ours when the file is one; words alone when it is something of the tree that is not served."""
    if re.match(r"https?://", target):
        return f'<a href="{escape(target)}" rel="noreferrer">{words}</a>'
    path, _, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), path)) if path else file
    if path not in PAGE_OF:
        if not os.path.exists(os.path.join(ROOT, path)):
            sys.exit(f"{file}: a link to {target}, which is not there")
        return words
    return f'<a href="{PAGE_OF[path]}{"#" + escape(anchor) if anchor else ""}">{words}</a>'


def inline(text, file):
    out = []
    for n, part in enumerate(re.split(r"(`+[^`]*`+)", text)):
        if n % 2:
            out.append(f"<code>{escape(part.strip('`').strip())}</code>")
            continue
        part = escape(part).replace("&quot;", '"').replace("&#x27;", "'")
        part = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", part)
        part = re.sub(r"(?<![\w*])\*(?!\s)([^*]+?)\*(?!\w)", r"<em>\1</em>", part)
        out.append(part)
    return re.sub(r"\[((?:[^\[\]]|<[^>]*>)+)\]\(([^()\s]+)\)", lambda m: link(m[2], m[1], file), "".join(out))


def table(lines, file):
    rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    body = "".join("<tr>" + "".join(f"<td>{inline(cell, file)}</td>" for cell in row) + "</tr>" for row in rows[2:])
    kind = "wide pairs" if len(rows[0]) == 2 else "wide"
    return (f'<div class="{kind}"><table><thead><tr>' + "".join(f"<th>{inline(cell, file)}</th>" for cell in rows[0]) +
            f"</tr></thead><tbody>{body}</tbody></table></div>")


def items(lines, file):
    """A list, whose items may go on in indented lines."""
    tag = "ul" if re.match(r"[*-] ", lines[0]) else "ol"
    found = []
    for line in lines:
        begun = re.match(r"(?:[*-]|\d+\.) (.*)", line)
        if begun:
            found.append(begun[1])
        else:
            found[-1] += " " + line.strip()
    return f"<{tag}>" + "".join(f"<li>{inline(one, file)}</li>" for one in found) + f"</{tag}>"


def markdown(page, text, level=1):
    lines, n = text.split("\n"), 0
    while n < len(lines):
        line, first = lines[n], n
        if line.startswith("```"):
            n += 1
            while n < len(lines) and not lines[n].startswith("```"):
                n += 1
            page.put(f"<pre><code>{escape(chr(10).join(lines[first + 1:n]))}</code></pre>")
            n += 1
        elif line.startswith("    "):
            while n < len(lines) and (lines[n].startswith("    ") or (not lines[n].strip() and
                                      any(more.strip() for more in lines[n:n + 2]) and lines[n + 1].startswith("    "))):
                n += 1
            page.put(f"<pre><code>{escape(chr(10).join(one[4:] for one in lines[first:n]))}</code></pre>")
        elif re.match(r"#+ ", line):
            marks, words = line.split(" ", 1)
            page.head(min(len(marks) + level - 1, 6), words, slug(words))
            n += 1
        elif line.startswith("|"):
            while n < len(lines) and lines[n].startswith("|"):
                n += 1
            page.put(table(lines[first:n], page.file))
        elif re.match(r"([*-]|\d+\.) ", line):
            n += 1
            while n < len(lines) and lines[n].strip() and (lines[n].startswith(" ") or re.match(r"([*-]|\d+\.) ", lines[n])):
                n += 1
            page.put(items(lines[first:n], page.file))
        elif line.startswith("!["):  # a picture is for those who read the tree
            link(re.search(r"\(([^()\s]+)\)", line)[1], "", page.file)
            n += 1
        elif line.strip():
            while n < len(lines) and lines[n].strip() and not re.match(r"```|#+ |\||([*-]|\d+\.) ", lines[n]) or n == first:
                n += 1
            page.put(f"<p>{inline(' '.join(lines[first:n]), page.file)}</p>")
        else:
            n += 1


# ---- the reference ----

class Reference:
    def __init__(self, contract):
        self.contract, self.schemas = contract, contract["components"]["schemas"]

    def named(self, reference):
        found = self.contract
        for part in reference.lstrip("#/").split("/"):
            found = found[part]
        return found

    def resolve(self, thing):
        while "$ref" in thing:
            thing = {**self.named(thing["$ref"]), **{key: value for key, value in thing.items() if key != "$ref"}}
        return thing

    def kind(self, schema, page):
        """A schema in a line."""
        prefix = "" if page == "schemas" else "schemas"
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return f'<a href="{prefix}#{escape(name)}">{escape(name)}</a>'
        for word in ("oneOf", "anyOf", "allOf"):
            if word in schema:
                return (" and " if word == "allOf" else " or ").join(self.kind(one, page) for one in schema[word])
        kinds = schema.get("type", "")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        out = " or ".join(f"array of {self.kind(schema['items'], page)}" if kind == "array" and "items" in schema else escape(kind)
                          for kind in kinds if kind)
        if "const" in schema:
            out = f"<code>{escape(schema['const'])}</code>"
        for word in ("enum", "x-extensible-enum"):
            if word in schema:
                out = " | ".join(f"<code>{escape(value)}</code>" for value in schema[word])
        bounds = [f"{words} {schema[word]}" for word, words in (
            ("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"), ("exclusiveMaximum", "below"),
            ("minLength", "at least"), ("maxLength", "at most"), ("minItems", "at least"), ("maxItems", "at most"),
            ("default", "default")) if word in schema]
        return out + (f' <span class="soft">{escape(", ".join(bounds))}</span>' if bounds else "")

    def members(self, page, schema):
        schema = self.resolve(schema)
        for part in schema.get("allOf", []):
            self.members(page, part)
        for n, part in enumerate(one for word in ("oneOf", "anyOf") for one in schema.get(word, [])):
            if "properties" in part:
                page.put(f"<p>{'Either' if n == 0 else 'or'}:</p>")
                self.members(page, part)
        if not schema.get("properties"):
            return
        rows = []
        for name, member in schema["properties"].items():
            said = self.resolve(member).get("description", "")
            must = "" if name in schema.get("required", ()) else ' <span class="soft">optional</span>'
            rows.append(f"<tr><td><code>{escape(name)}</code>{must}</td><td>{self.kind(member, page.name)}</td>"
                        f"<td>{inline(' '.join(str(said).split()), 'openapi.yaml')}</td></tr>")
        page.put('<div class="wide"><table><tbody>' + "".join(rows) + "</tbody></table></div>")

    def describe(self, page, text):
        """Descriptions are Markdown; tables of codes have a page of their own."""
        markdown(page, "\n".join(line for line in (text or "").split("\n")), level=4)

    def example(self, content):
        found = content.get("example")
        if found is None:
            found = next((one.get("value") for one in content.get("examples", {}).values()), None)
        if found is None or isinstance(found, str):
            return ""
        text = json.dumps(found, indent=2, ensure_ascii=False)
        return f"<details><summary>Example</summary><pre><code>{escape(text)}</code></pre></details>"

    def body(self, page, what, content):
        for kind, media in content.items():
            if kind == "application/problem+json":
                continue
            page.put(f"<p><strong>{what}</strong> <code>{escape(kind)}</code>: {self.kind(media.get('schema', {}), page.name)}</p>")
            if "$ref" not in media.get("schema", {}):
                self.members(page, media.get("schema", {}))
            page.put(self.example(media))

    def operation(self, page, path, method, operation, shared):
        page.head(3, "", operation["operationId"], f'<span class="method">{method.upper()}</span> <span class="path">{escape(path)}</span>')
        page.put(f"<p><strong>{inline(operation['summary'], 'openapi.yaml')}</strong></p>")
        self.describe(page, operation.get("description"))
        scopes = [" ".join(scope) for one in operation.get("security", []) for scope in one.values()]
        page.put(f"<p class=\"soft\">{'Token: ' + ' or '.join(map(escape, scopes)) if scopes else 'No token'}</p>")
        rows = [self.resolve(one) for one in shared + operation.get("parameters", [])]
        if rows:
            page.put('<div class="wide"><table><tbody>' + "".join(
                f"<tr><td><code>{escape(one['name'])}</code> <span class=\"soft\">{escape(one['in'])}</span></td>"
                f"<td>{self.kind(one.get('schema', {}), page.name)}</td>"
                f"<td>{inline(' '.join(one.get('description', '').split()), 'openapi.yaml')}</td></tr>" for one in rows) +
                "</tbody></table></div>")
        if "requestBody" in operation:
            self.body(page, "Body", self.resolve(operation["requestBody"])["content"])
        for status, reply in operation["responses"].items():
            reply = self.resolve(reply)
            if str(status).startswith("2"):
                page.put(f"<p><strong>{escape(status)}</strong> {inline(' '.join(reply['description'].split()), 'openapi.yaml')}</p>")
                self.body(page, "Reply", reply.get("content", {}))
        refused = [str(status) for status in operation["responses"] if str(status)[0] in "45"]
        if refused:
            page.put(f"<p class=\"soft\">Refusals: {', '.join(refused)}; <a href=\"problems\">what each code means</a></p>")

    def reference(self):
        page = Page("reference", "Reference", "openapi.yaml")
        page.head(1, "", "reference", f"Reference <span class=\"soft\">{escape(self.contract['info']['version'])}</span>")
        self.describe(page, self.contract["info"].get("description"))
        of_tag = {}
        for path, item in self.contract["paths"].items():
            for method in METHODS:
                if method in item:
                    of_tag.setdefault(item[method]["tags"][0], []).append((path, method, item[method], item.get("parameters", [])))
        for tag, operations in of_tag.items():
            page.put(f"<details><summary>{escape(tag)}</summary><ul>" + "".join(
                f'<li><a href="#{escape(one["operationId"])}">{escape(one["summary"])}</a> <code>{method.upper()} {escape(path)}</code></li>'
                for path, method, one, _ in operations) + "</ul></details>")
        about = {tag["name"]: tag.get("description", "") for tag in self.contract.get("tags", [])}
        for tag, operations in of_tag.items():
            page.head(2, tag, f"tag-{tag}")
            self.describe(page, about.get(tag))
            for operation in operations:
                self.operation(page, *operation)
        return page

    def schema_page(self):
        page = Page("schemas", "Schemas", "openapi.yaml")
        page.head(1, "Schemas", "schemas-of-the-contract")
        for name, schema in self.schemas.items():
            page.head(2, name, name, escape(name))
            if name == "ProblemCode":
                page.put('<p>A stable code: <a href="problems">all of them</a>.</p>')
                continue
            self.describe(page, schema.get("description"))
            page.put(f"<p>{self.kind(schema, 'schemas')}</p>")
            self.members(page, schema)
        return page

    def problem_page(self):
        page = Page("problems", "Problems", "openapi.yaml")
        page.head(1, "Problems: causes and cures", "problems")
        page.put("<p>Every refusal is <code>application/problem+json</code> with one of these codes. They are stable: a program "
                 "may test for them.</p>")
        rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (yes|no) \| (.*?) \| (.*?) \|$", self.schemas["ProblemCode"]["description"], re.M)
        page.put('<div class="wide pairs"><table><thead><tr><th>Code</th><th>Status</th><th>Cause</th><th>Cure</th></tr></thead><tbody>')
        for code, status, again, cause, cure in rows:
            page.ids.add(code)
            page.put(f'<tr id="{code}"><td><code>{code}</code></td><td>{status}</td><td>{inline(cause, "openapi.yaml")}</td>'
                     f'<td>{inline(cure, "openapi.yaml")}{" <span class=soft>The same request may succeed later.</span>" if again == "yes" else ""}</td></tr>')
        page.put("</tbody></table></div>")
        return page


# ---- all of it ----

def front():
    page = Page("index", "Documentation")
    page.head(1, "Documentation", "documentation")
    page.put("<p>gnomon suggests which parameters you should try next, and does not need to see your data.</p>")
    for section, guides in SECTIONS:
        page.head(2, section, slug(section))
        page.put("<ul>" + "".join(f'<li><a href="docs/{name}">{escape(title)}</a></li>' for name, _, title in guides) + "</ul>")
    page.put('<h2 id="contract">The contract</h2><ul><li><a href="docs/reference">Reference</a>: every request and reply</li>'
             '<li><a href="docs/schemas">Schemas</a></li><li><a href="docs/problems">Problems</a>: every code, its cause and its cure</li>'
             '<li><a href="openapi.yaml">openapi.yaml</a>, for programs</li></ul>')
    return page


def check(pages):
    """No guide is left out, and links within the pages lead to pages and places that are there."""
    for pattern in ("docs/start/*.md", "docs/howto/*.md", "docs/concepts/*.md", "api/*/GUIDE.md", "db/*/GUIDE.md", "engine/*/GUIDE.md", "service/*/GUIDE.md", "api/clients/*/GUIDE.md", "deploy/*.md"):
        for path in sorted(glob.glob(pattern, root_dir=ROOT)):
            if path not in PAGE_OF:
                sys.exit(f"{path} is no page")
    known = {page.name: page for page in pages}
    for page in pages:
        for target in re.findall(r'href="([^"]*)"', "\n".join(page.parts)):
            if re.match(r"https?:", target) or target == "openapi.yaml":
                continue
            name, _, anchor = html.unescape(target).partition("#")
            name = (name[5:] if page.name == "index" and name.startswith("docs/") else name) or page.name
            if name not in known or (anchor and anchor not in known[name].ids):
                sys.exit(f"{page.name} ({page.file}): a link to {target}, which leads nowhere")


def rows(files):
    """The files as C, as gzip has them; numbers, since a string has a limit."""
    digest = hashlib.sha256(b"".join(name.encode() + b"\0" + data for name, _, data in files)).hexdigest()[:16]
    out = [f'#define DOCS_ETAG "\\"{digest}\\""']
    for name, kind, data in files:
        packed = gzip.compress(data, 9, mtime=0)
        out.append(f'{{.name = "{name}", .type = "{kind}", .bytes = {len(data)}, .gzip = (const unsigned char[]){{')
        out += [",".join(map(str, packed[n:n + 4096])) + "," for n in range(0, len(packed), 4096)]
        out.append(f"}}, .gzip_bytes = {len(packed)}}},")
    return "\n".join(out) + "\n"


def main(out):
    with open(os.path.join(ROOT, "openapi.yaml"), encoding="utf-8") as file:
        reference = Reference(yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    pages = [front()]
    for name, path, title in GUIDES:
        page = Page(name, title, path)
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            markdown(page, file.read())
        pages.append(page)
    pages += [reference.reference(), reference.schema_page(), reference.problem_page()]
    check(pages)
    files = [(page.name, "text/html; charset=utf-8", page.whole().encode()) for page in pages]
    with open(os.path.join(ROOT, "api", "docs", "style.css"), "rb") as file:
        files.append(("style.css", "text/css; charset=utf-8", file.read()))
    client, packed = wheel.wheel()
    files.append((f"clients/{client}", "application/zip", packed))
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    with open(out, "w", encoding="ascii") as file:
        file.write(rows(files))


if __name__ == "__main__":
    main(sys.argv[1])
