// A figure that is a table: its rows in the order of any column, or those with some words alone.
"use strict";
(() => {
  const table = document.querySelector("table.cells");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  if (rows.length < 5) return;
  rows.forEach((row, place) => { row.place = place; });

  function key(row, column) { // its first number, or its words
    const text = row.cells[column].textContent.trim();
    const number = Number.parseFloat(text);
    return Number.isNaN(number) ? text.toLowerCase() : number;
  }

  function compare(column, up) {
    return (a, b) => {
      const [first, second] = [key(a, column), key(b, column)];
      const numbers = [first, second].map((each) => typeof each === "number");
      if (numbers[0] !== numbers[1]) return numbers[1] - numbers[0]; // numbers come first
      const by = numbers[0] ? first - second : first.localeCompare(second);
      return (up ? by : -by) || a.place - b.place;
    };
  }

  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows.toSorted(compare(column, up)));
    });
  });

  const label = document.createElement("label");
  const field = document.createElement("input");
  field.type = "search";
  field.id = "rows-with";
  label.append("Rows with ", field);
  table.parentElement.before(label);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
})();
