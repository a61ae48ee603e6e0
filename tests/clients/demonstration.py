"""A professional of a demonstration server, whose address is the only argument."""

import base64
import json
import sys
import urllib.request

BASE = sys.argv[1]
LOGIN = base64.b64encode(b"anna@example.org:demo-password").decode()


def call(method, path, body=None):
    """Sends a request of a professional about group 1, and returns the JSON of its answer."""
    url = f"{BASE}/api/v1/groups/1{path}?apikey=demo-key-town-practice"
    request = urllib.request.Request(url, method=method)
    request.add_header("Authorization", f"Basic {LOGIN}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
