{
  // The zone of the browser is proposed where none is chosen.
  const zones = document.querySelector("select[data-propose]");
  if (zones && !zones.value) {
    const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const city = here.split("/").pop().replaceAll("_", " ");
    const same = [...zones.options].filter((one) => (one.dataset.zone ?? one.value) === here);
    zones.value = (same.find((one) => one.value === city) ?? same[0])?.value ?? "";
  }
}
