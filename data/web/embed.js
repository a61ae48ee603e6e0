// Shows the booking page of a shop in this site: docs/embedding.md. The link before the script
// stays for visitors without it, and until the page has appeared.
(() => {
  const script = document.currentScript;
  const { shop, mode, lang } = script.dataset;
  const server = new URL(script.src).origin;
  const isFrench = /^fr/i.test(lang || document.documentElement.lang || navigator.language);

  let link = script.previousElementSibling;
  if (link?.origin !== server) {
    link = document.createElement("a");
    link.href = new URL("b/" + encodeURIComponent(shop), script.src);
    link.textContent = isFrench ? "Prendre rendez-vous" : "Book an appointment";
    script.before(link);
  }
  const url = new URL(link.href);
  url.searchParams.set("o", location.origin);
  if (lang) url.searchParams.set("lang", lang);

  const frame = document.createElement("iframe");
  frame.title = link.textContent.trim();
  frame.style.cssText = "display:block;width:100%;height:40rem;border:0";

  let dialog;
  let isBooked;
  if (mode === "button") {
    const button = document.createElement("button");
    button.type = "button";
    button.className = link.className;
    button.textContent = frame.title;
    button.setAttribute("aria-haspopup", "dialog");
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = isFrench ? "Fermer" : "Close";
    close.style.cssText =
      "display:block;position:sticky;top:0;margin:0 0 0 auto;min-width:44px;min-height:44px";
    dialog = document.createElement("dialog");
    dialog.setAttribute("aria-label", frame.title);
    dialog.style.cssText =
      "box-sizing:border-box;width:44rem;max-width:100%;max-height:100%;padding:0;border:0";
    link.replaceWith(button);
    dialog.append(close, link, frame);
    button.after(dialog);
    close.onclick = () => dialog.close();
    button.onclick = () => {
      // What was typed stays for the next time, until it is booked.
      if (isBooked !== false) frame.src = url;
      isBooked = false;
      dialog.showModal();
    };
  } else {
    frame.src = url;
    link.after(frame);
  }

  let isShown;
  addEventListener("message", ({ data, origin, source }) => {
    if (origin !== server || source !== frame.contentWindow) return;
    link.style.display = "none";
    if (data.type === "height") {
      frame.style.height = `${data.height}px`;
    } else if (data.type === "escape") {
      dialog?.close();
    } else {
      isBooked ||= data.type === "booked";
      // Another page begins at its top.
      if (isShown && data.top) {
        if (dialog) dialog.scrollTop = 0;
        else if (frame.getBoundingClientRect().top < 0) frame.scrollIntoView();
      }
      isShown = true;
      frame.dispatchEvent(new CustomEvent("slotbook", { bubbles: true, detail: data }));
    }
  });
})();
