"""Checks of our own for the management API: every failure is told in its own form, and half of what is sent meets a record."""

import atexit
import collections
import os
import random

import schemathesis

#: The workspace, the account and the key that the run itself stands on are not among what may be deleted.
known = {
    "workspaceName": "spare",
    "accountId": "default",
    "domainName": "known.example.com",
    "imageName": "base",
    "resourceType": "_",
    "integrationName": "openai",
}
kept = {"targetWorkspace", "apiKeyId", "uid", "pendingShareId", "clientId", "executionId"}
answers = collections.defaultdict(collections.Counter)


@schemathesis.check
def error_has_its_form(ctx, response, case):
    kind = response.headers.get("content-type", [""])[0]
    others = ("/oauth/", "/login/", "/mcp")
    if response.status_code < 400 or "json" not in kind or any(one in case.path for one in others):
        return
    body = response.json()
    assert isinstance(body.get("error"), str) and body["error"], response.text
    assert body.get("code") == response.status_code, response.text
    assert isinstance(body.get("message"), str) and body["message"], response.text
    assert "internal error" not in body["message"], response.text


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Half of the addresses are those of records that are there; another workspace than theirs is mostly none at all."""
    parameters = case.path_parameters or {}
    chance = random.Random(repr(sorted(map(str, parameters.items()))) + repr(case.body)[:200])
    use = chance.random() < 0.5
    for name in parameters:
        if name not in kept and (name == "workspaceName" or use):
            parameters[name] = known.get(name, "known")
    if case.query and chance.random() < 0.8:
        case.query.pop("workspace", None)


@schemathesis.hook
def after_call(ctx, case, response):
    answers[f"{case.operation.method.upper()} {case.operation.path}"][response.status_code // 100] += 1


@atexit.register
def tell():
    good = sum(1 for counts in answers.values() if counts[2] or counts[3])
    print(f"fuzz: of {len(answers)} operations {good} have succeeded at least once")
    if os.environ.get("VERBOSE"):
        print(*(one for one, counts in answers.items() if not counts[2] and not counts[3]), sep="\n")
