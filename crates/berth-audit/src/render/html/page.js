"use strict";
(() => {
  const severity = document.getElementById("severity");
  const area = document.getElementById("area");
  const words = document.getElementById("words");
  const none = document.getElementById("none");
  const findings = [...document.querySelectorAll("#findings > details")];
  const apply = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const finding of findings) {
      const parts = [finding, ...finding.querySelectorAll("details")];
      const text = finding.textContent.toLowerCase();
      const fits = parts.some((part) => Number(part.dataset.severity) >= Number(severity.value))
        && (area.value === "" || parts.some((part) => part.dataset.area === area.value))
        && wanted.every((word) => text.includes(word));
      finding.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    none.hidden = shown > 0;
  };
  for (const input of [severity, area, words]) input.addEventListener("input", apply);
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  apply();
})();
