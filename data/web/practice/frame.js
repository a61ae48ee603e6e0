// Improves screens that work without it. Each file is a block of its own in one module.
{
  // A second click sends nothing while the first is under way. A login that is over is asked for
  // first, on top of the form, which keeps what was typed.
  const once = () => document.querySelectorAll("form.once");
  for (const form of once()) {
    form.addEventListener("submit", async (event) => {
      if (form.dataset.sent) {
        event.preventDefault();
        return;
      }
      if (!asking.hasLogin || form.dataset.known) {
        form.dataset.sent = "1";
        return;
      }
      event.preventDefault();
      if (form.dataset.asked) return;
      form.dataset.asked = "1";
      const login = await asking.logIn();
      delete form.dataset.asked;
      if (login === "lost") asking.warn(form, asking.words.unsent);
      if (login !== "in") return;
      form.dataset.known = "1";
      form.requestSubmit(event.submitter);
    });
  }
  // A form that creates, moves or cancels an event is known again on the page that follows,
  // which has what takes it back.
  const KIND = /\/events\/(?:new|\d+\/(?:cancel|move))$/;
  const kept = () => {
    try { return JSON.parse(sessionStorage.getItem("sent")); } catch { return null; }
  };
  const keep = (sent) => {
    try { sessionStorage.setItem("sent", JSON.stringify(sent)); } catch { /* Then it cannot be taken back. */ }
  };
  addEventListener("submit", ({ target }) => {
    if (target.closest("dialog")) return;
    const path = new URL(target.action).pathname;
    if (KIND.test(path)) keep({ path, action: target.action, before: { ...target.dataset } });
  });
  const sent = kept();
  if (sent && sent.path !== location.pathname) {
    keep(null);
    const restore = document.querySelector("form[action*='/restore']");
    const { searchParams } = new URL(location.href);
    const revision = searchParams.get("moved");
    // Not yet `:target` while the document is read.
    const made = document.getElementById(location.hash.slice(1));
    if (sent.path.endsWith("/cancel") && restore) {
      asking.remember({ action: restore.action, fields: Object.fromEntries(new FormData(restore)) });
    } else if (sent.path.endsWith("/move") && revision) {
      const { day, time, calendar, length, pass } = sent.before;
      const fields = { day, time, calendar, length, revision, mail: "1", seen: asking.markOf(sent.before) };
      if (pass) fields.pass = pass;
      asking.remember({ action: sent.action, fields });
    } else if (sent.path.endsWith("/move") && searchParams.has("saved")) {
      // More was done than the move, which no single form takes back.
      asking.remember(null);
    } else if (sent.path.endsWith("/new") && made?.dataset.r) {
      const action = `${new URL(made.href).pathname}/cancel`;
      asking.remember({ action, fields: { revision: made.dataset.r, mail: "1" } });
    }
  }

  // A screen that comes back from the browser's memory can be sent again.
  addEventListener("pageshow", () => {
    for (const form of once()) {
      delete form.dataset.sent;
      delete form.dataset.known;
    }
  });

  // The refusal of a form is read first.
  document.querySelector("form .alert")?.focus();
}
