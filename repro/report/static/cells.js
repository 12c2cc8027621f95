// A figure that is a table: its rows in the order of any column, or those with some words or some
// values of columns alone. What is asked is kept in the address.
"use strict";
(() => {
  const table = document.querySelector("table.cells");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  if (rows.length < 5) return;
  rows.forEach((row, place) => { row.place = place; });
  const heads = [...table.tHead.rows[0].cells];
  const said = (cell) => cell.textContent.trim().replace(/\s+/g, " ");
  const names = heads.map(said);
  const order = { column: -1, up: true };

  function key(row, column) { // its first number, or its words
    const text = said(row.cells[column]);
    const number = Number.parseFloat(text.replace(/^\u2212/, "-"));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  }

  function compare(a, b) {
    if (order.column < 0) return a.place - b.place;
    const [first, second] = [key(a, order.column), key(b, order.column)];
    const numbers = [first, second].map((each) => typeof each === "number");
    if (numbers[0] !== numbers[1]) return numbers[1] - numbers[0]; // numbers come first
    const by = numbers[0] ? first - second : first.localeCompare(second);
    return (order.up ? by : -by) || a.place - b.place;
  }

  // A filter for every column of few texts that are repeated.
  const form = document.createElement("div");
  form.className = "filters";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "Rows of the table");
  function labelled(text, field, name) {
    const label = document.createElement("label");
    field.name = name;
    label.append(`${text} `, field);
    form.append(label);
    return field;
  }
  const search = labelled("Rows with", document.createElement("input"), "rows");
  search.type = "search";
  const selects = new Map();
  heads.forEach((head, column) => {
    const values = [...new Set(rows.map((row) => said(row.cells[column])))];
    const texts = rows.every((row) => typeof key(row, column) === "string");
    const repeated = values.length >= 2 && values.length <= Math.min(12, rows.length / 2);
    if (!names[column] || !texts || !repeated) return;
    const field = document.createElement("select");
    field.append(new Option("every", ""), ...values.map((value) => new Option(value, value)));
    selects.set(column, labelled(names[column], field, `rows.${names[column]}`));
  });
  const count = document.createElement("p");
  count.setAttribute("role", "status");
  table.parentElement.before(form, count);
  const fields = [search, ...selects.values()];

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word))
        && [...selects].every(([column, { value }]) => !value || said(row.cells[column]) === value);
      row.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${rows.length} rows`;
  }

  function sort() {
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[order.column]?.setAttribute("aria-sort", order.up ? "ascending" : "descending");
    body.append(...rows.toSorted(compare));
  }

  function remember() {
    const values = Object.fromEntries(
      fields.filter((field) => field.value).map((field) => [field.name, field.value]),
    );
    if (order.column >= 0) values["rows-by"] = (order.up ? "" : "-") + names[order.column];
    address.keep((name) => name.startsWith("rows"), values);
  }

  function recall() {
    const asked = address.asked();
    for (const field of fields) {
      field.value = asked.get(field.name) ?? "";
      if (field.selectedIndex === -1) field.value = "";
    }
    const by = asked.get("rows-by") ?? "";
    const up = names.includes(by);
    Object.assign(order, { column: by ? names.indexOf(up ? by : by.slice(1)) : -1, up });
    show();
    sort();
  }

  heads.forEach((head, column) => {
    if (!names[column]) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      Object.assign(order, { up: order.column === column ? !order.up : true, column });
      sort();
      remember();
    });
  });
  form.addEventListener("input", () => { show(); remember(); });
  addEventListener("hashchange", () => { if (location.hash.includes("=")) recall(); });
  recall();
})();
