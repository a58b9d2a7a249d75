# SPDX-License-Identifier: Apache-2.0
"""Where the example programs find the server: the first argument, or WHINCHAT_BASE_URL."""

import os
import sys


def base_url() -> str:
    """The URL of the API, with its /v1."""
    if len(sys.argv) > 1:
        return sys.argv[1]
    return os.environ.get("WHINCHAT_BASE_URL", "http://localhost:8000/v1")


def check_answer(answer: str) -> None:
    """Ends the program with an error if there is no answer."""
    if not answer.strip():
        sys.exit("the answer is empty")
