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
  // A screen that comes back from the browser's memory can be sent again.
  addEventListener("pageshow", () => {
    for (const form of once()) {
      delete form.dataset.sent;
      delete form.dataset.known;
    }
  });

  // The refusal of a form is read first.
  document.querySelector("form > .alert")?.focus();
}
