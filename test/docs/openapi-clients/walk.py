"""The way of a sandbox by a client made by openapi-python-client."""

import os

from management_client import AuthenticatedClient as Host
from management_client.api.sandboxes import sandboxes_create, sandboxes_delete
from management_client.models import SandboxInput
from sandbox_client import AuthenticatedClient as Box
from sandbox_client.api.filesystem import filesystem_read, filesystem_write
from sandbox_client.api.process import process_start
from sandbox_client.models import StartProcess, WriteFile

url, key = os.environ["HUTCH_URL"], os.environ["HUTCH_KEY"]
host = Host(base_url=url, token=key)
body = {"metadata": {"name": "py"}, "spec": {"runtime": {"image": "svc/busybox:latest", "memory": 256}}}
made = sandboxes_create.sync(client=host, body=SandboxInput.from_dict(body))
assert made.metadata.name == "py", made

box = Box(base_url=made.metadata.url, token=key, timeout=60)
ran = process_start.sync(client=box, body=StartProcess(command="echo out; exit 3", wait_for_completion=True))
assert (ran.exit_code, ran.stdout, ran.status) == (3, "out\n", "failed"), ran

filesystem_write.sync(path="b.txt", client=box, body=WriteFile(content="hello"))
read = filesystem_read.sync(path="b.txt", client=box)
assert read.content == "hello", read

gone = sandboxes_delete.sync(sandbox_name="py", client=host)
print("gone:", gone.status)
