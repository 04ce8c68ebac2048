# SPDX-License-Identifier: MIT
"""Suites of other tools' own tests, one module each; tools/peer-suites runs them."""
