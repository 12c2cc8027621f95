// The board: search, filters and order, kept in the address after the #.
"use strict";
(() => {
  const form = document.getElementById("board-filters");
  const body = document.querySelector("#board tbody");
  const rows = [...body.rows];
  const fields = [...form.elements].filter((field) => field.name);
  const heads = [...document.querySelectorAll("#board th[data-sort]")];
  let down = false;
  rows.forEach((row, place) => { row.place = place; });

  const cell = (row, column) => row.querySelector(`td[data-column="${CSS.escape(column)}"]`);
  const number = (text) => (text ? Number(text) : NaN);

  function key(row, column) {
    if (column === "name") return row.dataset.name.toLowerCase();
    return number(column ? cell(row, column).dataset.key : row.dataset.median);
  }

  function compare(a, b, column) {
    const [first, second] = [key(a, column), key(b, column)];
    if (typeof first === "string") return (down ? -1 : 1) * first.localeCompare(second);
    if (Number.isNaN(first) || Number.isNaN(second)) { // what is undefined comes last
      return Number.isNaN(first) - Number.isNaN(second) || a.place - b.place;
    }
    return (down ? second - first : first - second) || a.place - b.place;
  }

  function show() {
    const asked = Object.fromEntries(fields.map((field) => [field.name, field.value]));
    const words = asked.q.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const name = row.dataset.name.toLowerCase();
      const trained = !asked.trained || "key" in cell(row, asked.trained).dataset;
      const fits = trained && (!asked.optimizer || row.dataset.optimizer === asked.optimizer);
      row.hidden = !(fits && words.every((word) => name.includes(word)));
      shown += !row.hidden;
    }
    body.append(...rows.toSorted((a, b) => compare(a, b, asked.sort)));
    for (const head of heads) {
      const chosen = head.dataset.sort === asked.sort;
      if (chosen) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    document.getElementById("board-count").textContent = `${shown} of ${rows.length} entries`;
    document.getElementById("board-none").hidden = shown > 0;
  }

  function remember() {
    const query = new URLSearchParams();
    for (const field of fields) if (field.value) query.set(field.name, field.value);
    if (down) query.set("down", "1");
    history.replaceState(null, "", `#${query.toString() || "matrix"}`);
  }

  function recall() {
    const query = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    for (const field of fields) {
      field.value = query.get(field.name) ?? "";
      if (field.selectedIndex === -1) field.value = "";
    }
    down = query.get("down") === "1";
    show();
  }

  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const same = form.elements.sort.value === head.dataset.sort;
      down = same && !down;
      form.elements.sort.value = head.dataset.sort;
      show();
      remember();
    });
  }
  form.addEventListener("input", (event) => {
    if (event.target.name === "sort") down = false;
    show();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  function clear(event) {
    event.preventDefault();
    for (const field of fields) field.value = "";
    down = false;
    show();
    remember();
  }
  form.addEventListener("reset", clear);
  document.getElementById("board-all").addEventListener("click", clear);
  addEventListener("hashchange", () => { if (location.hash.includes("=")) recall(); });
  form.hidden = false;
  recall();
})();
