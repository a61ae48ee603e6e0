{
  // A field that is to be copied gets a button. Browsers without HTTPS have no clipboard; there the
  // text is selected.
  for (const field of document.querySelectorAll("input[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = field.dataset.copy;
    button.addEventListener("click", async () => {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        asking.say(field.dataset.copied);
      } catch {
        field.focus();
      }
    });
    field.addEventListener("focus", () => field.select());
    const line = document.createElement("p");
    line.append(button);
    field.closest(".field").append(line);
  }
}
