"""Deliveries of webhooks, whose signatures the library `standardwebhooks` checks, against a demonstration server that
may post to this machine.

The only argument is the address of the server.
"""

import http.server
import queue
import threading

from demonstration import call
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

ARRIVED = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what arrives, and takes it."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        ARRIVED.put((body, dict(self.headers.items())))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def is_signed(secret, body, headers):
    """Whether the library takes a delivery."""
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def next_delivery():
    """The next delivery: its body and its headers."""
    return ARRIVED.get(timeout=60)


receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{receiver.server_port}/changes"
made = call("POST", "/webhooks", {"url": url, "objects": ["fiche"]})
path, first = f"/webhooks/{made['id']}", made["secret"]

tested = call("POST", f"{path}/test")
assert tested["status"] == 204, tested
body, headers = next_delivery()
assert Webhook(first).verify(body, headers)["type"] == "test"

client = call("POST", "/fiches", {"fiche": {"lastname": "Café ☂"}})
body, headers = next_delivery()
delivery = Webhook(first).verify(body, headers)
changes = [(change["object"], change["verb"]) for change in delivery["data"]["changes"]]
assert changes == [(f"fiche:{client['id']}", "made")], changes
assert b"Caf" not in body

# What another has changed or made is not taken.
assert not is_signed(first, body + b" ", headers)
assert not is_signed("whsec_" + "A" * 44, body, headers)
for name, value in [("webhook-id", "1"), ("webhook-timestamp", "1")]:
    assert not is_signed(first, body, headers | {name: value}), name

# While the secret is changed, both are valid; then the new one alone.
second = call("POST", f"{path}/secret")["secret"]
call("POST", "/fiches", {"fiche": {"lastname": "Second"}})
body, headers = next_delivery()
assert is_signed(first, body, headers) and is_signed(second, body, headers)
call("DELETE", f"{path}/secret")
call("POST", "/fiches", {"fiche": {"lastname": "Third"}})
body, headers = next_delivery()
assert is_signed(second, body, headers) and not is_signed(first, body, headers)
call("DELETE", path)
receiver.shutdown()
