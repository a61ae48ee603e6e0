// The keys of the agenda. Each screen works without them.
const agenda = (() => {
  const marked = () => document.querySelector("[data-roving]");
  const stops = () => [...marked().querySelectorAll("a[data-x]")].filter((one) => one.offsetParent);
  const x = (one) => Number(one.dataset.x);
  const y = (one) => Number(one.dataset.y);

  // One event is the tab stop; the arrows move it.
  const make = (stop) => {
    for (const one of marked().querySelectorAll("a[data-x]")) one.tabIndex = one === stop ? 0 : -1;
  };
  const go = (stop) => {
    if (!stop) return;
    make(stop);
    stop.focus();
  };

  // The neighbour of an event: in its column by time, or in the next column with any by nearness.
  const neighbour = (from, key) => {
    const all = stops();
    const column = all.filter((one) => x(one) === x(from));
    const at = column.indexOf(from);
    if (key === "ArrowDown") return column[at + 1];
    if (key === "ArrowUp") return column[at - 1];
    if (key === "Home") return column[0];
    if (key === "End") return column.at(-1);
    const rightwards = (key === "ArrowRight") === (getComputedStyle(marked()).direction === "ltr");
    const beside = all.map(x).filter((one) => (rightwards ? one > x(from) : one < x(from)));
    if (beside.length === 0) return undefined;
    const next = rightwards ? Math.min(...beside) : Math.max(...beside);
    const distance = (one) => Math.abs(y(one) - y(from));
    return all.filter((one) => x(one) === next).reduce((best, one) => (distance(one) < distance(best) ? one : best));
  };

  // Keys can be turned off, for people whose tools type them.
  const STORED = "agenda-keys";
  let on = true;
  try { on = localStorage.getItem(STORED) !== "off"; } catch { /* Without storage, keys are on. */ }
  const dialog = document.getElementById("keys");

  const begin = () => make(document.querySelector("a[data-x]:target") ?? stops()[0]);

  if (marked()) {
    // The browser gives the focus to the event that the address names, by which a screen was left.
    begin();
    marked().addEventListener("focusin", (event) => {
      if (event.target.matches("a[data-x]")) make(event.target);
    });
    marked().addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || !event.target.matches("a[data-x]")) return;
      if (event.defaultPrevented || !/^(Arrow|Home|End)/.test(event.key)) return;
      event.preventDefault();
      go(neighbour(event.target, event.key));
    });
  }

  if (dialog) {
    const button = document.getElementById("keys-button");
    const box = document.getElementById("keys-on");
    button.hidden = false;
    box.checked = on;
    button.addEventListener("click", () => dialog.showModal());
    box.addEventListener("change", () => {
      on = box.checked;
      try { localStorage.setItem(STORED, on ? "on" : "off"); } catch { /* It holds for this screen. */ }
    });
  }

  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (event.target.matches("input, select, textarea") || asking.isOpen()) return;
    const back = document.getElementById("back");
    if (event.key === "Escape" && back) back.click();
    if (!on) return;
    if (event.key === "?" && dialog) dialog.showModal();
    else if (keys[event.key]) keys[event.key](event);
    else if (/^[a-z/]$/.test(event.key)) {
      const link = document.querySelector(`a[data-key="${event.key}"]`);
      if (!link) return;
      event.preventDefault();
      link.click();
    }
  });

  // The keys that the grid adds: functions by their names.
  const keys = {};
  return { marked, make, begin, keys };
})();
