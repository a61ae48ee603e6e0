// Sends the forms that a person without this script would send, and follows what the server says.
// Its questions are asked in a dialog on top, so that the screen behind keeps what it shows.
const asking = (() => {
  // Screens of a professional who is logged in have this line, which is read out and shown for a
  // while, and its words.
  const line = document.getElementById("said");
  const words = line?.dataset ?? {};
  let ends;
  const say = (text) => {
    line.textContent = text;
    clearTimeout(ends);
    ends = setTimeout(() => { line.textContent = ""; }, 10_000);
  };
  const fill = (text, places) => text.replace(/\{(\w+)\}/g, (all, name) => places[name] ?? all);

  // One request: `done` if it led on, `same`, `page`, `refused`, `over` without a login, or `lost`.
  const request = async (url, options) => {
    try {
      const response = await fetch(url, { cache: "no-store", ...options });
      if (response.status === 304) return { kind: "same" };
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const at = new URL(response.url);
      // A proxy in front of a server that is away answers with a page of its own.
      if (!page.getElementById("main")) return { kind: "lost" };
      const answer = { page, at, status: response.status, tag: response.headers.get("etag") };
      const isLogin = at.pathname === "/login" && response.redirected;
      if (isLogin || response.status === 401) return { ...answer, kind: "over" };
      if (!response.ok) return { ...answer, kind: "refused" };
      return { ...answer, kind: response.redirected ? "done" : "page" };
    } catch {
      return { kind: "lost" };
    }
  };
  const post = (action, fields) => request(action, { method: "POST", body: new URLSearchParams(fields) });

  const sheet = document.createElement("dialog");
  sheet.className = "sheet";
  sheet.setAttribute("aria-labelledby", "sheet-title");
  let settle = () => {};
  let closes;

  // Shows the main part of a page on top. Its ids are other ones than those of the page below.
  const open = (nodes) => {
    sheet.replaceChildren(...nodes);
    for (const name of ["id", "for", "aria-describedby", "aria-labelledby"]) {
      for (const one of sheet.querySelectorAll(`[${name}]`)) {
        one.setAttribute(name, one.getAttribute(name).replace(/\S+/g, "sheet-$&"));
      }
    }
    sheet.querySelector("h1, h2")?.setAttribute("id", "sheet-title");
    for (const link of sheet.querySelectorAll("a[href]")) link.target = "_blank";
    const leave = sheet.querySelector(".leave");
    closes = document.createElement("button");
    closes.type = "button";
    closes.className = "quiet";
    closes.textContent = leave?.dataset.close ?? words.close;
    closes.addEventListener("click", () => sheet.close());
    leave?.remove();
    const foot = document.createElement("p");
    foot.append(closes);
    sheet.append(foot);
    if (!sheet.isConnected) document.body.append(sheet);
    if (!sheet.open) sheet.showModal();
    const fields = "input:not([type=hidden]), select, button";
    (sheet.querySelector("[role=alert]") ?? sheet.querySelector("[aria-invalid]") ?? sheet.querySelector(fields)).focus();
  };
  // The form of the sheet as it is sent; nothing if the sheet is closed.
  const sent = () => new Promise((resolve) => { settle = resolve; });
  sheet.addEventListener("submit", (event) => {
    event.preventDefault();
    if (sheet.ariaBusy) return;
    settle({ action: event.target.action, fields: [...new FormData(event.target, event.submitter)] });
  });
  sheet.addEventListener("close", () => settle(undefined));
  const close = () => {
    settle = () => {};
    sheet.close();
  };
  const busy = async (work) => {
    sheet.ariaBusy = "true";
    const answer = await work;
    sheet.ariaBusy = null;
    return answer;
  };
  const warn = (form, text) => {
    const old = form.querySelector(".alert.unsent");
    const alert = old ?? document.createElement("p");
    alert.className = "alert unsent";
    alert.setAttribute("role", "alert");
    alert.tabIndex = -1;
    alert.textContent = text;
    form.prepend(alert);
    alert.focus();
  };

  // Asks for the login, if there is none. Nothing behind the dialog is lost.
  const logIn = async () => {
    const url = `/login${location.search.match(/[?&]lang=\w+/)?.[0].replace("&", "?") ?? ""}`;
    const look = async (options) => {
      try {
        const response = await fetch(url, { redirect: "manual", cache: "no-store", ...options });
        if (response.type === "opaqueredirect") return "in";
        return new DOMParser().parseFromString(await response.text(), "text/html");
      } catch {
        return "lost";
      }
    };
    let answer = await look({});
    for (;;) {
      if (answer === "in") {
        if (sheet.open) close();
        return "in";
      }
      if (answer === "lost" && !sheet.open) return "lost";
      if (answer === "lost") {
        warn(sheet.querySelector("form") ?? sheet, words.unsent);
      } else {
        const over = document.createElement("p");
        over.textContent = words.over;
        const nodes = [...answer.getElementById("main").childNodes];
        open(nodes);
        sheet.querySelector("h1")?.after(over);
      }
      const form = await sent();
      if (!form) return "left";
      answer = await busy(look({ method: "POST", body: new URLSearchParams(form.fields) }));
    }
  };

  // Sends fields to an address until the server is content or the person leaves it. A refusal for
  // which `quits` holds ends it.
  const carry = async (action, fields, quits = () => false) => {
    let answer = await post(action, fields);
    for (;;) {
      if (answer.kind === "over") {
        const login = await logIn();
        if (login !== "in") return { kind: login };
        answer = await post(action, fields);
      } else if (answer.kind === "refused" && !quits(answer)) {
        open([...answer.page.getElementById("main").childNodes]);
        const { status } = answer;
        const form = await sent();
        if (!form) return { kind: "left", status };
        ({ action, fields } = form);
        answer = await busy(post(action, fields));
        if (answer.kind !== "refused") close();
      } else {
        return answer;
      }
    }
  };

  // The last change that this browser tab has sent, as the form that takes it back.
  const remember = (form) => {
    try { sessionStorage.setItem("undo", JSON.stringify(form)); } catch { /* Then it cannot be taken back. */ }
  };
  const remembered = () => {
    try { return JSON.parse(sessionStorage.getItem("undo")); } catch { return null; }
  };

  // A target of a move as the server marks it once it has warned of it.
  const markOf = ({ day, time, calendar, length, pass }) => `${day} ${time}:00 ${calendar} ${length}${pass ? " 2" : ""}`;

  const isOpen = () => document.querySelector("dialog[open]") !== null;
  return { say, fill, words, remember, remembered, markOf, request, logIn, carry, warn, isOpen, hasLogin: line !== null };
})();
