// Improves screens that work without it. Each file is a block of its own in one module.
{
  // A second click sends nothing while the first is under way.
  const once = () => document.querySelectorAll("form.once");
  for (const form of once()) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "1";
    });
  }
  // A screen that comes back from the browser's memory can be sent again.
  addEventListener("pageshow", () => {
    for (const form of once()) delete form.dataset.sent;
  });

  // The refusal of a form is read first.
  document.querySelector("form > .alert")?.focus();
}
