# SPDX-License-Identifier: Apache-2.0
"""link pipe: what goes in comes back whole from an echoing device on a damaged link."""
import os
import subprocess

import e2e

data = os.urandom(400000)
done = subprocess.run([e2e.MILLRACE, "link", "pipe", "pc:link?drop=100@5000+30000", "--stats"],
                      input=data, capture_output=True, timeout=e2e.DEADLINE_S)
assert done.returncode == 0, done.stderr
assert done.stdout == data, (len(done.stdout), len(data))
assert b"damaged frames" in done.stderr
