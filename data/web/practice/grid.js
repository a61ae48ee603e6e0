// Moves appointments and absences on the grid, by pointer, by touch and by keys. It sends the form of "Move…".
{
  const ROW = 5;
  const ROWS_MIN = 3;
  const EDGE = 8;
  const DRAG = 5;
  const PRESS = 400;
  const SWIPE = 60;
  const { say, fill, words, remember, remembered } = asking;
  const marked = agenda.marked();
  const isGrid = marked?.dataset.new !== undefined;

  // What is shown.
  const number = (name) => Number(marked.dataset[name]);
  const columns = () => [...marked.querySelectorAll(".col")].filter((one) => one.offsetParent);
  const bodyOf = (column) => column.querySelector(".body");
  const two = (digits) => String(digits).padStart(2, "0");
  const written = (minutes) => `${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`;
  const clock = (row) => written((number("first") + row) * ROW);
  const rowsOf = (minutes) => Math.max(ROWS_MIN, Math.ceil(minutes / ROW));
  const rowOf = (link) => Number(link.dataset.y) - number("first");
  const clamp = (row, rows) => Math.max(0, Math.min(row, number("rows") - rows));
  // Rows of the times that the calendar of a column offers.
  const stepOf = (column) => Number(column.dataset.step) / ROW;
  const snap = (row, column, round) => {
    const first = number("first");
    return round((first + row) / stepOf(column)) * stepOf(column) - first;
  };
  const rowAt = (column, y) => {
    const box = bodyOf(column).getBoundingClientRect();
    return ((y - box.top) / box.height) * number("rows");
  };
  const columnAt = (x, other) => {
    const inside = (one) => {
      const box = one.getBoundingClientRect();
      return box.left <= x && x < box.right;
    };
    return columns().find(inside) ?? other;
  };

  // The connection. Without one the screen can be read only, and says how old it is.
  let tag = null;
  let shownAt = new Date();
  let lost = 0;
  const banner = document.getElementById("lost");
  const tellAge = () => {
    const minutes = Math.floor((Date.now() - shownAt) / 60_000);
    const time = `${two(shownAt.getHours())}:${two(shownAt.getMinutes())}`;
    const text = fill(words.age, { time, minutes });
    if (banner.textContent !== text) banner.textContent = text;
  };
  const lose = () => {
    tellAge();
    if (lost) return;
    banner.hidden = false;
    lost = setInterval(async () => {
      tellAge();
      await refresh();
    }, 5_000);
  };
  const find = () => {
    if (!lost) return;
    clearInterval(lost);
    lost = 0;
    banner.hidden = true;
    say(words.again);
  };

  // An event, or time, in the hand: where it would go, and how it was taken.
  let held = null;
  let busy = false;

  // Takes the newest view in place of the one that is shown. The focus stays with its event.
  const swap = (page) => {
    const next = page.querySelector("[data-roving]");
    if (!next || held) return;
    const focused = marked.contains(document.activeElement) ? document.activeElement.id : "";
    for (const name of marked.getAttributeNames()) if (!next.hasAttribute(name)) marked.removeAttribute(name);
    for (const name of next.getAttributeNames()) marked.setAttribute(name, next.getAttribute(name));
    marked.replaceChildren(...next.childNodes);
    agenda.begin();
    if (focused) focusOn(focused);
  };
  // An event that moved to another day has another id.
  const focusOn = (id) => {
    const link = document.getElementById(id) ?? marked.querySelector(`a[id^="${id.replace(/-.*/, "-")}"]`);
    if (link) link.focus();
  };
  const plain = (view) => view.outerHTML.replace(/ tabindex="-?\d+"/g, "");
  // Returns whether something else is shown now.
  const refresh = async () => {
    const answer = await asking.request(location.href, tag ? { headers: { "If-None-Match": tag } } : {});
    if (answer.kind === "lost") {
      lose();
      return;
    }
    if (answer.kind === "over" && !asking.isOpen()) {
      const login = await asking.logIn();
      if (login === "in") await refresh();
      return;
    }
    if (answer.kind !== "page" && answer.kind !== "same") return;
    find();
    // What is in the hand stays over the view that it was taken from.
    if (held) return;
    shownAt = new Date();
    if (answer.kind === "same") return;
    // The first answer may show what is there already. The stop of the keys is a matter of the tab.
    const next = answer.page.querySelector("[data-roving]");
    const isOther = next !== null && plain(next) !== plain(marked);
    tag = answer.tag;
    if (isOther) swap(answer.page);
    return isOther;
  };

  // The day or week that follows in the direction of the last turn is fetched ahead. It is shown
  // at once, and asked for again while it is.
  const AHEAD = 300;
  let ahead = null;
  let onward = "j";
  let waits = 0;
  const fetchAhead = () => {
    const link = document.querySelector(`.controls a[data-key="${onward}"]`);
    if (!link || navigator.connection?.saveData || document.visibilityState !== "visible") return;
    ahead = { url: link.href, at: new Date(), answer: asking.request(link.href) };
  };
  const planAhead = () => {
    clearTimeout(waits);
    waits = setTimeout(fetchAhead, AHEAD);
  };
  const fetched = async (url) => {
    const one = ahead;
    ahead = null;
    clearTimeout(waits);
    if (one?.url !== url) return null;
    const answer = await one.answer;
    return answer.kind === "page" ? { ...answer, from: one.at } : null;
  };

  // Another day or week comes in place of this one, without a page of its own.
  let shown = location.pathname + location.search;
  const turn = async (url, isBack) => {
    const known = await fetched(url);
    const answer = known ?? await asking.request(url);
    if (answer.kind === "lost") {
      lose();
      return;
    }
    if (answer.kind !== "page" || answer.page.querySelector("[data-roving]")?.dataset.new === undefined) {
      location.assign(url);
      return;
    }
    if (!isBack) history.pushState(null, "", url);
    shown = location.pathname + location.search;
    if (!known) find();
    shownAt = known?.from ?? new Date();
    tag = answer.tag;
    const key = document.activeElement.dataset.key;
    const { page } = answer;
    document.title = page.title;
    const parts = ["h1", ".controls nav:first-child", ".controls nav + nav", ".goto", ".turn", "a[hreflang]"];
    const pairs = parts.map((part) => [document.querySelector(part), page.querySelector(part)]);
    for (const [old, fresh] of pairs) {
      if (old && fresh) old.replaceWith(fresh);
      else if (fresh) marked.before(fresh);
      else old?.remove();
    }
    swap(page);
    if (key) document.querySelector(`a[data-key="${key}"]`)?.focus();
    say(document.querySelector("h1").textContent);
    if (known) await refresh();
    planAhead();
  };
  const onTurn = (event) => {
    const link = event.target.closest(".controls a, .turn a");
    if (!link || event.button !== 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const view = new URL(link.href).searchParams.get("v");
    if (held || busy || (view && !/^(day|week)$/.test(view))) return;
    event.preventDefault();
    if (/^[jk]$/.test(link.dataset.key)) onward = link.dataset.key;
    turn(link.href);
  };

  // The form of "Move…" for an event at a place.
  const formOf = (link, place) => {
    const there = new URL(link.href);
    const lang = there.searchParams.get("lang");
    const action = `${there.pathname}/move${lang ? `?lang=${lang}` : ""}`;
    const { calendar, day, time, length, revision, pass } = place;
    const fields = { calendar, day, time, length, revision, mail: "1" };
    if (pass) fields.pass = pass;
    return { action, fields };
  };
  const present = (link) => {
    const { c: calendar, day } = link.closest(".col").dataset;
    const { t: time, n: length, r: revision, pass } = link.dataset;
    return { calendar, day, time, length, revision, pass };
  };

  const title = (column) => column.querySelector("h2 bdi").textContent;
  // A start between two rows is kept as long as its row is.
  const startOf = ({ link, from, row }) => (link && row === from.row ? link.dataset.t : clock(row));
  const where = (one) => {
    const { column, row, rows, minutes } = one;
    const [hour, minute] = startOf(one).split(":").map(Number);
    const end = minutes === undefined ? clock(row + rows) : written(hour * 60 + minute + minutes);
    return fill(words.at, { start: startOf(one), end, column: title(column) });
  };

  const take = (link, how) => {
    const column = link.closest(".col");
    const minutes = Number(link.dataset.n);
    const row = rowOf(link);
    const from = { column, row, minutes };
    held = { link, how, from, column, row, minutes, rows: rowsOf(minutes), ghost: makeGhost(link) };
    link.closest("li").classList.add("lifted");
    place();
  };
  const makeGhost = (link) => {
    const ghost = document.createElement("div");
    ghost.className = "rows-of ghost";
    ghost.ariaHidden = "true";
    const box = document.createElement("div");
    box.textContent = link?.querySelector("bdi").textContent ?? "";
    ghost.append(box);
    return ghost;
  };
  const place = () => {
    const { ghost, column, row, rows } = held;
    ghost.firstChild.className = `event r${row} n${Math.max(1, Math.min(rows, number("rows") - row))}`;
    if (ghost.parentNode !== bodyOf(column)) bodyOf(column).append(ghost);
    if (held.how === "keys") ghost.firstChild.scrollIntoView({ block: "nearest" });
  };
  const release = () => {
    held?.ghost.remove();
    held?.link?.closest("li")?.classList.remove("lifted");
    held = null;
  };
  const leave = (text) => {
    release();
    say(text ?? words.returned);
  };

  // Sends where the held appointment was put, and shows what became of it.
  const put = async () => {
    const { link, from, column, row, minutes } = held;
    const before = present(link);
    if (column === from.column && row === from.row && minutes === from.minutes) {
      leave();
      return;
    }
    const isThere = row === from.row;
    const after = {
      ...before,
      calendar: column.dataset.c,
      day: column.dataset.day,
      time: startOf(held),
      // So is the second pass of an hour.
      pass: isThere && column.dataset.day === before.day ? before.pass : undefined,
      length: String(minutes),
    };
    const spoken = where(held);
    const { id } = link;
    busy = true;
    const form = formOf(link, after);
    const answer = await asking.carry(form.action, Object.entries(form.fields));
    busy = false;
    release();
    await settle(answer, id, fill(words.moved, { place: spoken }));
    if (answer.kind !== "done") return;
    const revision = answer.at.searchParams.get("moved");
    if (!revision) {
      // Appointments were cancelled or moved with it, which no single form takes back.
      remember(null);
      return;
    }
    const undo = formOf(link, { ...before, revision });
    remember({ id, action: undo.action, fields: { ...undo.fields, seen: asking.markOf(before) } });
  };
  const settle = async (answer, id, done) => {
    if (answer.kind === "lost") lose();
    else if (answer.kind === "done" || answer.status) await refresh();
    if (answer.kind === "done") say(done);
    else say(answer.kind === "lost" ? words.unsent : words.returned);
    focusOn(id);
  };

  const undo = async () => {
    const form = remembered();
    if (busy || held || !form) {
      say(words.nothing);
      return;
    }
    busy = true;
    const quits = ({ status, page }) => status === 412 || !page.querySelector("form[action*='/move']");
    const answer = await asking.carry(form.action, Object.entries(form.fields), quits);
    busy = false;
    if (answer.kind === "lost") {
      lose();
      return;
    }
    if (answer.kind === "refused" || answer.kind === "done") remember(null);
    await refresh();
    if (answer.kind === "done") say(words.undone);
    else if (answer.kind === "left") say(words.kept);
    else if (answer.status === 412 || answer.status === 404) say(words.overtaken);
    else say(answer.page?.querySelector("[role=alert]")?.textContent ?? words.returned);
    if (form.id) focusOn(form.id);
  };

  // The screen of a new appointment at a place.
  const add = (column, row, end) => {
    const there = new URL(marked.dataset.new, location.href);
    const { searchParams } = there;
    searchParams.set("c", column.dataset.c);
    searchParams.set("d", column.dataset.day);
    if (row !== undefined) searchParams.set("t", clock(row));
    if (end !== undefined) searchParams.set("to", clock(end));
    const client = new URLSearchParams(location.search).get("client");
    if (client) searchParams.set("client", client);
    location.assign(there);
  };
  const mayChange = () => {
    if (busy) return false;
    if (lost) say(words.readOnly);
    return !lost;
  };

  const onKey = (event) => {
    if (!held || busy || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Shift" || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") {
      const { link } = held;
      leave();
      link?.focus();
      return;
    }
    if (held.how !== "keys") return;
    if (event.key === "Enter") {
      put();
      return;
    }
    const rightwards = getComputedStyle(marked).direction === "ltr" ? 1 : -1;
    const way = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -rightwards, ArrowRight: rightwards }[event.key];
    const hour = { PageUp: -60 / ROW, PageDown: 60 / ROW }[event.key];
    if (event.shiftKey && /^Arrow(Up|Down)$/.test(event.key)) {
      lengthen(held.minutes + way * ROW);
    } else if (/^Arrow(Left|Right)$/.test(event.key)) {
      const all = columns();
      held.column = all[all.indexOf(held.column) + way] ?? held.column;
    } else if (way !== undefined) {
      const round = way < 0 ? Math.ceil : Math.floor;
      held.row = clamp(snap(held.row, held.column, round) + way * stepOf(held.column), held.rows);
    } else if (hour !== undefined) {
      held.row = clamp(held.row + hour, held.rows);
    } else {
      return;
    }
    place();
    say(where(held));
  };
  const lengthen = (minutes) => {
    held.minutes = Math.max(ROW, minutes);
    held.rows = rowsOf(held.minutes);
  };

  // The pointer.
  let pressed = null;
  let isClickOver = false;
  const startDrag = () => {
    const { link, column, y, isEdge, pointer } = pressed;
    if (!mayChange()) {
      pressed = null;
      return;
    }
    getSelection().removeAllRanges();
    if (link) {
      take(link, isEdge ? "edge" : "drag");
      held.grip = rowAt(column, y) - held.row;
      say(where(held));
    } else {
      const row = clamp(snap(rowAt(column, y), column, Math.floor), 1);
      held = { link: null, how: "draw", column, from: row, row, rows: stepOf(column), ghost: makeGhost() };
      place();
    }
    held.pointer = pointer;
    requestAnimationFrame(scroll);
  };
  const track = ({ clientX, clientY }) => {
    pressed = { ...pressed, clientX, clientY };
    const before = where(held);
    if (held.how === "edge") {
      const end = Math.round(rowAt(held.column, clientY));
      lengthen(held.from.minutes + (end - held.row - rowsOf(held.from.minutes)) * ROW);
    } else if (held.how === "drag") {
      held.column = columnAt(clientX, held.column);
      const row = rowAt(held.column, clientY) - held.grip;
      held.row = clamp(snap(row, held.column, Math.round), held.rows);
    } else {
      const step = stepOf(held.column);
      const at = clamp(snap(rowAt(held.column, clientY), held.column, Math.floor), 1);
      held.row = Math.min(at, held.from);
      held.rows = Math.abs(at - held.from) + step;
    }
    place();
    if (where(held) !== before) say(where(held));
  };
  // At the edges of the window what lies beyond comes into view.
  const scroll = () => {
    if (!held?.pointer || !pressed) return;
    const { clientX, clientY } = pressed;
    if (clientY !== undefined) {
      const near = (at, size) => (at < 32 ? -8 : at > size - 32 ? 8 : 0);
      const box = marked.getBoundingClientRect();
      const down = near(clientY, innerHeight);
      const right = near(clientX - box.left, box.width);
      if (down) scrollBy(0, down);
      if (right) marked.scrollLeft += right;
      if (down || right) track(pressed);
    }
    requestAnimationFrame(scroll);
  };
  const onDown = (event) => {
    isClickOver = false;
    const body = event.target.closest(".body");
    if (held || !event.isPrimary || event.button !== 0 || !body) return;
    const link = event.target.closest("a.event");
    if (link && !link.dataset.t) return;
    const isTouch = event.pointerType === "touch";
    const { clientX: x, clientY: y } = event;
    const box = link?.getBoundingClientRect();
    const ends = link && Number(link.dataset.n) / ROW + rowOf(link) <= number("rows");
    const edge = isTouch ? 2 * EDGE : EDGE;
    const isEdge = ends && y > box.bottom - edge && box.height > 2 * edge;
    pressed = { link, column: body.closest(".col"), x, y, isEdge, isTouch, pointer: event.pointerId };
    if (isTouch) pressed.timer = setTimeout(startDrag, PRESS);
  };
  const onMove = (event) => {
    if (!pressed || event.pointerId !== pressed.pointer || busy) return;
    if (!held) {
      const distance = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y);
      if (pressed.isTouch && distance > 2 * DRAG) forget();
      if (!pressed || pressed.isTouch || distance <= DRAG) return;
      startDrag();
    }
    if (held) track(event);
  };
  const forget = () => {
    clearTimeout(pressed?.timer);
    pressed = null;
  };
  const onUp = (event) => {
    if (!pressed || event.pointerId !== pressed.pointer) return;
    forget();
    if (!held || busy) return;
    isClickOver = true;
    if (held.how !== "draw") {
      put();
      return;
    }
    const { column, row, rows } = held;
    release();
    add(column, row, row + rows);
  };
  const onCancel = () => {
    forget();
    if (held && held.how !== "keys" && !busy) leave();
  };
  const onClick = (event) => {
    if (isClickOver) {
      isClickOver = false;
      event.preventDefault();
      return;
    }
    const body = event.target.closest(".body");
    if (!body || event.target.closest("a") || held || !mayChange()) return;
    const column = body.closest(".col");
    add(column, clamp(snap(rowAt(column, event.clientY), column, Math.floor), 1));
  };

  // A swipe on a phone leads to the next column, as the links do.
  let swipe = null;
  const onTouch = (event) => {
    const { clientX: x, clientY: y } = event.touches[0];
    swipe = event.touches.length === 1 ? { x, y } : null;
  };
  const onTouchEnd = (event) => {
    if (!swipe || held || isClickOver) return;
    const { clientX, clientY } = event.changedTouches[0];
    const [across, down] = [clientX - swipe.x, clientY - swipe.y];
    if (Math.abs(across) < SWIPE || Math.abs(across) < 2 * Math.abs(down)) return;
    const forward = (across < 0) === (getComputedStyle(marked).direction === "ltr");
    const link = document.querySelector(`.turn a[rel=${forward ? "next" : "prev"}]`);
    if (link?.offsetParent) link.click();
  };

  if (isGrid) {
    marked.addEventListener("pointerdown", onDown);
    addEventListener("pointermove", onMove);
    addEventListener("pointerup", onUp);
    addEventListener("pointercancel", onCancel);
    marked.addEventListener("click", onClick, true);
    marked.addEventListener("dragstart", (event) => event.preventDefault());
    // A long press takes the event; it opens no menu and scrolls no page.
    marked.addEventListener("contextmenu", (event) => { if (pressed?.isTouch || held) event.preventDefault(); });
    marked.addEventListener("touchmove", (event) => { if (held) event.preventDefault(); }, { passive: false });
    marked.addEventListener("touchstart", onTouch, { passive: true });
    marked.addEventListener("touchend", onTouchEnd);
    addEventListener("keydown", onKey, true);
    marked.addEventListener("focusout", () => { if (held?.how === "keys" && !busy) leave(); });

    addEventListener("click", onTurn);
    planAhead();
    addEventListener("popstate", () => {
      if (location.pathname + location.search !== shown) turn(location.href, true);
    });

    const focused = () => document.activeElement.closest("a.event");
    agenda.keys.g = (event) => {
      const link = focused();
      if (!link) return;
      event.preventDefault();
      if (!link.dataset.t) say(link.dataset.repeats === undefined ? words.unmovable : words.repeats);
      else if (mayChange()) {
        take(link, "keys");
        say(fill(words.taken, { place: where(held) }));
      }
    };
    agenda.keys.c = () => {
      if (!mayChange()) return;
      const link = focused();
      const column = link?.closest(".col") ?? columns()[0];
      if (column) add(column, link?.dataset.t ? rowOf(link) : undefined);
    };
  }
  if (marked) {
    agenda.keys.z = undo;
    const isFree = () => document.visibilityState === "visible" && !held && !busy && !asking.isOpen();
    const see = () => { if (isFree()) refresh(); };
    agenda.live = { isFree, refresh };
    document.addEventListener("visibilitychange", see);
    setInterval(see, 60_000);
    addEventListener("online", see);
    addEventListener("offline", lose);
  }
}
