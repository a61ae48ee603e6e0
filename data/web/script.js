// Improves pages that work without it. No page needs it.

// A second click sends nothing while the first is under way, and a status says that it is. After
// the browser's Stop, or 8 seconds, the form can be sent again; the server books once.
const onceForms = document.querySelectorAll("form.once");
let turn = 0;
const release = (ended) => {
  if (ended !== turn) return;
  for (const form of onceForms) {
    delete form.dataset.sent;
    form.querySelector(".sending").textContent = "";
  }
};
for (const form of onceForms) {
  const status = document.createElement("span");
  status.className = "sending";
  status.setAttribute("role", "status");
  (form.querySelector(".send") ?? form).append(status);
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "1";
    status.textContent = document.querySelector("main").dataset.sending;
    const sent = ++turn;
    setTimeout(() => release(sent), 8000);
  });
}
globalThis.navigation?.addEventListener("navigate", (event) => {
  const sent = turn;
  event.signal.addEventListener("abort", () => release(sent));
});
// A page that comes back from the browser's memory can be sent again.
addEventListener("pageshow", () => release(turn));

// The refusal of a form is read first.
document.querySelector("form > .alert")?.focus();

// The shop's zone is named where the browser's clock differs from it, and each time there has the
// visitor's own beside it.
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
  const isFrench = document.documentElement.lang === "fr";
  const tongue = isFrench ? "fr" : "en-GB";
  const time = { hour: isFrench ? "2-digit" : "numeric", minute: "2-digit", hourCycle: isFrench ? "h23" : "h12" };
  const sameDay = new Intl.DateTimeFormat(tongue, time);
  const otherDay = new Intl.DateTimeFormat(tongue, { weekday: "short", day: "numeric", ...time });
  const day = (at, timeZone) => at.toLocaleDateString("en", { timeZone });
  for (const one of zone.hidden ? [] : document.querySelectorAll("[data-at]")) {
    const at = new Date(one.dataset.at * 1000);
    let format = otherDay;
    try {
      if (day(at, zone.dataset.zone) === day(at)) format = sameDay;
    } catch {}
    const own = document.createElement("span");
    own.className = "own";
    own.textContent = ` (${format.format(at)})`;
    one.append(own);
  }
}

// Two minutes before a held time ends, its page says so.
const held = document.querySelector(".held");
if (held) {
  const ending = document.getElementById("ending");
  setTimeout(() => {
    ending.hidden = false;
    ending.textContent = ending.dataset.text;
  }, Math.max(0, held.dataset.left - 120) * 1000);
}

// A long list is filtered while the visitor types. What is chosen stays.
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
for (const input of document.querySelectorAll(".find input")) {
  const list = [...document.querySelectorAll(".list li")].filter((one) => !one.matches(".any"));
  const { one, many, none } = input.dataset;
  input.addEventListener("input", () => {
    const words = plain(input.value).split(/\s+/).filter(Boolean);
    let found = 0;
    for (const entry of list) {
      const isFound = words.every((word) => plain(entry.textContent).includes(word));
      found += isFound;
      entry.hidden = !isFound && !entry.querySelector(":checked, [aria-current]");
    }
    for (const set of document.querySelectorAll(".list .set")) {
      set.hidden = !set.querySelector("li:not([hidden])");
      if (words.length > 0) set.open = true;
    }
    const status = input.closest(".find").querySelector("[role=status]");
    status.textContent = words.length === 0 ? "" : found === 0 ? none : found === 1 ? one : many.replace("{count}", found);
  });
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
  // The next month has the focus in its table too.
  const turn = (selector) => {
    const link = document.querySelector(`.month .turn ${selector}`);
    if (link) location.href = link.href.replace(/#.*/, "#dates");
  };
  if (location.hash === "#dates") dates[at]?.focus();
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

// The site that shows the page in a frame learns of its height, its step and a booking: of no
// person, no time and no secret. Messages to the frame are not read.
const root = document.documentElement;
const { embedder } = root.dataset;
if (embedder && parent !== window) {
  const tell = (message) => parent.postMessage(message, embedder);
  new ResizeObserver(() => {
    const height = Math.ceil(root.getBoundingClientRect().height);
    // A closed dialog has none.
    if (height > 0) tell({ type: "height", height });
  }).observe(root);
  const page = location.pathname.split("/")[3] || "service";
  const step = document.querySelector("#code") ? "code" : page;
  tell({ type: "step", step, top: !location.hash });
  // The page that a booking leads to: not when it is loaded again, or shown in another language.
  const booked = document.querySelector("#booked")?.dataset.booked;
  const [visit] = performance.getEntriesByType("navigation");
  if (booked && visit.type === "navigate" && visit.redirectCount > 0) tell(JSON.parse(booked));
  // The site's dialog does not get the key.
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) tell({ type: "escape" });
  });
  // Browsers ignore autofocus in frames of other sites. Focus that is elsewhere stays there.
  if (document.hasFocus()) document.querySelector("[autofocus]")?.focus();
}
