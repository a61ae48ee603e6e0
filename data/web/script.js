// Improves pages that work without it. No page needs it.

// A second click sends nothing while the first is under way.
for (const form of document.querySelectorAll("form.once")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "1";
  });
}
// A page that comes back from the browser's memory can be sent again; the server books once.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form.once")) delete form.dataset.sent;
});

// The refusal of a form is read first.
document.querySelector("form > .alert")?.focus();

// The shop's zone is named where the browser's clock differs from it.
const zone = document.querySelector(".zone");
if (zone) {
  const now = Date.now();
  const clock = (timeZone) =>
    [0, 91, 182, 273].map((days) =>
      new Date(now + days * 864e5).toLocaleString("en", { timeZone, hour12: false }),
    ).join();
  try {
    zone.hidden = clock(zone.dataset.zone) === clock(undefined);
  } catch {
    zone.hidden = false;
  }
}

// The table of dates by the keys of the date grid of the ARIA practices.
const table = document.querySelector("table.dates");
if (table) {
  const dates = [...table.querySelectorAll("td > *")];
  const column = (date) => date.parentElement.cellIndex;
  table.setAttribute("role", "grid");
  let at = dates.findIndex((date) => date.ariaCurrent || date.getAttribute("aria-current"));
  if (at < 0) at = Math.max(0, dates.findIndex((date) => date.href));
  for (const date of dates) date.tabIndex = -1;
  if (dates[at]) dates[at].tabIndex = 0;
  const move = (to) => {
    const next = Math.min(Math.max(to, 0), dates.length - 1);
    dates[at].tabIndex = -1;
    at = next;
    dates[at].tabIndex = 0;
    dates[at].focus();
  };
  const turn = (selector) => document.querySelector(`.month .turn ${selector}`)?.click();
  const keys = {
    ArrowLeft: () => move(at - 1),
    ArrowRight: () => move(at + 1),
    ArrowUp: () => move(at - 7),
    ArrowDown: () => move(at + 7),
    Home: () => move(at - column(dates[at])),
    End: () => move(at + 6 - column(dates[at])),
    PageUp: () => turn("a:not(.next)"),
    PageDown: () => turn("a.next"),
    " ": () => dates[at].click(),
  };
  table.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
}
