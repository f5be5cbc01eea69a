"""
Hooks for schemathesis. LD_ROLE names the role of the token. LD_SEEDED tells what is there: rows of fields that belong together by the area of the
path, and a request of each operation that somebody has made with success. Of three calls of an operation the first is that request, the second is
about such a row, the third is as it was generated. What each came to is noted in the file LD_ANSWERS, a line of JSON each.
"""

import collections
import json
import os
import re
import urllib.parse

import schemathesis

ROLE = os.environ["LD_ROLE"]
SEEDED = json.loads(os.environ["LD_SEEDED"])
# A request that cannot be read is refused before anybody asks who may send it. One without the token, which is tried too, is nobody's.
UNREADABLE = {400, 401, 404, 405, 413, 414, 415, 431}
METHODS = ("get", "post", "put", "patch", "delete")


called = collections.Counter()


@schemathesis.hook
def before_call(context, case, kwargs):
    label = case.operation.label
    turn = called[label]
    called[label] += 1
    rows = SEEDED["rows"].get(area_of(case.path), [])
    if turn % 3 == 0:
        repeat(case, SEEDED["requests"].get(label))
    elif turn % 3 == 1 and rows:
        seed((case.path_parameters, case.body), rows[turn // 3 % len(rows)])


def repeat(case, made):
    if made is None:
        return
    case.path_parameters.update(made.get("path", {}))
    case.query.clear()
    if isinstance(case.body, dict) and "body" in made:
        case.body = made["body"]


def area_of(path):
    """Of /v1/leads/{event_id}: leads."""
    return path.split("/")[2] if path.startswith("/v1/") else ""


def seed(value, row):
    """Puts what is there into the fields that take it, however deep. What is deliberately of another type stays."""
    if isinstance(value, tuple):
        for part in value:
            seed(part, row)
    elif isinstance(value, dict):
        for name, old in value.items():
            if name in row and isinstance(old, type(row[name])):
                value[name] = row[name]
            else:
                seed(old, row)


def segments(path):
    return [urllib.parse.unquote(part) for part in path.split("/")]


def takes(template, path):
    parts = template.split("/")
    return len(parts) == len(path) and all(re.match(r"\{\w+\}$", part) or part == given for part, given in zip(parts, path))


def operation_of(case, request):
    """The operation that a request is one of, by its own method and path: it need not be the one that it was generated for."""
    path = segments(urllib.parse.urlsplit(request.url).path)
    method = "get" if request.method == "HEAD" else request.method.lower()
    found = [
        (template, methods[method])
        for template, methods in case.operation.schema.raw_schema["paths"].items()
        if method in METHODS and method in methods and takes(template, path)
    ]
    # A word that stands in a path goes before a parameter there.
    return min(found, key=lambda one: one[0].count("{"), default=None), method


def note(label, status):
    with open(os.environ["LD_ANSWERS"], "a", encoding="utf-8") as answers:
        answers.write(json.dumps([label, status]) + "\n")


@schemathesis.check
def within_its_role(ctx, response, case):
    status = response.status_code
    found, method = operation_of(case, response.request)
    if found is None:
        path = urllib.parse.urlsplit(response.request.url).path
        note(case.operation.label, status)
        assert status >= 400 or not path.startswith("/v1/"), f"{ROLE} got {status} from {response.request.method} {path}, which nobody declares"
        return
    template, operation = found
    label = f"{method.upper()} {template}"
    note(label, status)
    roles = operation.get("x-roles", [])
    if ROLE not in roles:
        assert status == 403 or status in UNREADABLE, f"{ROLE} got {status} from {label}, which needs one of {roles}"
