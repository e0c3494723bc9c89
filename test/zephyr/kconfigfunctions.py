# SPDX-License-Identifier: Apache-2.0
"""Stands in for Zephyr's functions of Kconfig files, as far as ours call them; kconfiglib finds it by
its name. The chosen nodes are those that the variable CHOSEN names."""
import os


def dt_chosen_enabled(_kconf, _name, chosen):
    return "y" if chosen in os.environ["CHOSEN"].split() else "n"


functions = {"dt_chosen_enabled": (dt_chosen_enabled, 1, 1)}
