// The table of claims: search, filters and order, kept in the address after the #. Unless something
// is asked, of each group of a paper only what is refuted is shown until the group is opened.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const body = document.querySelector("#table tbody");
  const count = document.getElementById("count");
  const none = document.getElementById("none");
  const every = [...body.rows];
  every.forEach((row, place) => { row.place = place; });
  const heads = every.filter((row) => row.className === "group");
  const rows = every.filter((row) => row.className !== "group");
  const opened = new Set();
  const { shown: refuted } = document.getElementById("table").dataset;
  const ours = new Set(heads.filter((head) => "ours" in head.dataset).map((head) => head.dataset.group));
  rows.forEach((row) => {
    row.words = `${row.textContent} ${row.dataset.search}`.toLowerCase().replace(/\s+/g, " ");
  });
  const total = rows.length;
  const fields = [...form.elements].filter((field) => field.name);
  const standard = (field) => field.dataset.default ?? "";
  const order = { key: "", up: true };

  const keys = {
    verdict: (row) => Number(row.dataset.rank),
    statement: (row) => row.cells[1].textContent.trim().toLowerCase(),
    expected: (row) => row.cells[2].textContent.trim().toLowerCase(),
    measured: (row) => (row.dataset.measured === "" ? NaN : Number(row.dataset.measured)),
    n: (row) => Number(row.dataset.n),
  };

  function compare(a, b) {
    const [first, second] = [keys[order.key](a), keys[order.key](b)];
    if (Number.isNaN(first) || Number.isNaN(second)) { // what has no number comes last
      return Number.isNaN(first) - Number.isNaN(second) || a.place - b.place;
    }
    const by = typeof first === "string" ? first.localeCompare(second) : first - second;
    return (order.up ? by : -by) || a.place - b.place;
  }

  function show() {
    const asked = Object.fromEntries(fields.map((field) => [field.name, field.value]));
    // A place is one word: `figure 3` is not every figure with a 3 somewhere.
    const place = /(?:figures?|table|section|theorem|lemma|appendix|footnote) \S+|\S+/g;
    const words = asked.q.toLowerCase().replace(/\s+/g, " ").match(place) ?? [];
    const all = order.key !== "" || fields.some((field) => field.value !== standard(field));
    const members = new Map(heads.map((head) => [head.dataset.group, 0]));
    let shown = 0;
    for (const row of rows) {
      const { group, verdict } = row.dataset;
      const fits = fields.every(
        ({ name }) => name === "q" || !asked[name] || row.dataset[name] === asked[name],
      ) && words.every((word) => row.words.includes(word));
      row.hidden = !(fits && (all || opened.has(group) || (verdict === refuted && !ours.has(group))));
      shown += fits;
      members.set(group, members.get(group) + fits);
    }
    for (const head of heads) {
      const number = members.get(head.dataset.group);
      const button = head.querySelector("button");
      head.hidden = number === 0 || order.key !== "";
      head.querySelector(".chips").hidden = all;
      button.disabled = all;
      button.setAttribute("aria-expanded", String(all || opened.has(head.dataset.group)));
      button.dataset.count = number;
    }
    count.textContent = `${shown} of ${total} claims`;
    none.hidden = shown > 0;
  }

  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(head.firstElementChild.firstChild);
    head.firstElementChild.prepend(button);
    button.addEventListener("click", () => {
      const { group } = head.dataset;
      if (!opened.delete(group)) opened.add(group);
      show();
    });
  }

  // An address that names a row opens its group.
  function visit() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row || !rows.includes(row)) return;
    opened.add(row.dataset.group);
    for (const field of fields) {
      if (field.value && row.dataset[field.name] !== field.value) field.value = "";
    }
    show();
    row.scrollIntoView();
  }

  function sort() {
    body.append(...(order.key ? [...heads, ...rows.toSorted(compare)] : every));
    for (const head of document.querySelectorAll("#table th[data-sort]")) {
      if (head.dataset.sort === order.key) {
        head.setAttribute("aria-sort", order.up ? "ascending" : "descending");
      } else {
        head.removeAttribute("aria-sort");
      }
    }
  }

  function remember() {
    const changed = fields.filter((field) => field.value !== standard(field));
    const query = new URLSearchParams(changed.map((field) => [field.name, field.value]));
    if (order.key) query.set("sort", (order.up ? "" : "-") + order.key);
    const text = query.toString();
    history.replaceState(null, "", text ? `#${text}` : "#claims");
  }

  function recall() {
    const query = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
      field.value = query.get(field.name) ?? standard(field);
      if (field.selectedIndex === -1) field.value = "";
    }
    const key = (query.get("sort") ?? "").replace(/^-/, "");
    if (key in keys) Object.assign(order, { key, up: !query.get("sort").startsWith("-") });
    show();
    sort();
  }

  for (const head of document.querySelectorAll("#table th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const again = order.key === head.dataset.sort;
      Object.assign(order, { key: head.dataset.sort, up: again ? !order.up : true });
      show();
      sort();
      remember();
    });
  }
  form.addEventListener("input", () => { show(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    for (const field of fields) field.value = standard(field);
    order.key = "";
    show();
    sort();
    remember();
  });
  document.getElementById("all").addEventListener("click", () => {
    for (const field of fields) field.value = "";
    show();
    remember();
    fields[0].focus();
  });
  addEventListener("hashchange", () => { if (location.hash.includes("=")) recall(); else visit(); });
  form.hidden = false;
  recall();
  visit();
})();
