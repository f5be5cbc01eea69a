"""Check for schemathesis: whoever lacks the permission of an operation is refused, whatever is sent. LD_ROLE names the role of the token."""

import os

import schemathesis

ROLE = os.environ["LD_ROLE"]
# A request that cannot be read is refused before anybody asks who may send it. One without the token, which is tried too, is nobody's.
UNREADABLE = {400, 401, 404, 405, 413, 414, 415, 431}


@schemathesis.check
def within_its_role(ctx, response, case):
    roles = case.operation.definition.raw.get("x-roles", [])
    if ROLE in roles:
        return
    status = response.status_code
    assert status == 403 or status in UNREADABLE, f"{ROLE} got {status} from {case.operation.label}, which needs one of {roles}"
