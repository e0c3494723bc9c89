# SPDX-License-Identifier: Apache-2.0
"""The bash script completes commands, options, choices and port names; zsh and fish exist."""
import os
import subprocess

import e2e


def complete(line):
    """What bash offers at the end of `line`."""
    script = e2e.millrace("completion", "bash").out + f"""
COMP_LINE={line!r} COMP_POINT=${{#COMP_LINE}}
_millrace
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = {**os.environ, "PATH": os.path.dirname(e2e.MILLRACE) + ":" + os.environ["PATH"]}
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True,
                          env=environment, timeout=e2e.DEADLINE_S)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.split()


assert complete("millrace se") == ["serial"]
assert complete("millrace serial ") == ["--help", "bench", "sweep", "soak"]
assert complete("millrace serial bench --fra") == ["--frame-size", "--frames"]
assert complete("millrace serial bench --direction ") == ["in", "out", "both"]
assert complete("millrace serial bench --frames ") == []
assert "pc:" in complete("millrace serial bench p")
assert complete("millrace completion ") == ["--help"]
assert e2e.millrace("completion", "zsh").out.startswith("#compdef millrace")
fish = e2e.millrace("completion", "fish").out
assert "-l frame-size" in fish and "-a bench" in fish, fish
