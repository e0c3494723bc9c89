# SPDX-License-Identifier: Apache-2.0
"""link pipe: what goes in comes back whole from an echoing device on a damaged link; an input that
cannot be read is no empty one."""
import os
import subprocess

import e2e

data = os.urandom(400000)
done = subprocess.run([e2e.MILLRACE, "link", "pipe", "pc:link?drop=100@5000+30000", "--stats"],
                      input=data, capture_output=True, timeout=e2e.DEADLINE_S)
assert done.returncode == 0, done.stderr
assert done.stdout == data, (len(done.stdout), len(data))
assert b"damaged frames" in done.stderr

# A folder, a descriptor that is closed or for writing alone.
for words, code, says in (("<.", 2, b"a folder (give a file)"), ("<&-", 2, b"it is closed"),
                          ("0>/dev/null", 2, b"it is closed")):
    done = subprocess.run(["bash", "-c", f'"$0" link pipe pc:link {words}', e2e.MILLRACE],
                          capture_output=True, timeout=e2e.DEADLINE_S)
    assert done.returncode == code and done.stdout == b"", (words, done)
    assert done.stderr.startswith(b"millrace: read standard input: ") and says in done.stderr, done
    assert done.stderr.count(b"\n") == 1, done
