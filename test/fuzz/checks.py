"""Checks of our own for schemathesis: some 500s are in the contract, those that nobody foresaw are not."""

import schemathesis


@schemathesis.check
def unforeseen_failure(ctx, response, case):
    if response.status_code >= 500:
        text = response.text
        assert '"error"' in text, f"{response.status_code} without an error text"
        assert "internal error" not in text, text
        assert "origin" not in text, f"the gateway answers for the daemon: {text}"


@schemathesis.check
def error_has_a_text(ctx, response, case):
    if 400 <= response.status_code < 600 and "json" in response.headers.get("content-type", [""])[0]:
        assert response.json().get("error"), response.text


@schemathesis.hook
def map_body(ctx, body):
    """A command may be restarted for ever, and its caller wait as long: two seconds are enough to see what happens."""
    operation = ctx.operation.definition.raw.get("operationId")
    if operation == "process.start" and isinstance(body, dict) and isinstance(body.get("timeout", 0), (int, float)):
        body["timeout"] = 2
    return body
