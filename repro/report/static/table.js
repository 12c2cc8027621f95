// Statements: search, and filters by status and paper, kept in the address after the #. What is
// asked of a test opens the statement that has it.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const count = document.getElementById("count");
  const none = document.getElementById("none");
  const statements = [...document.querySelectorAll("#statements .statement")];
  const tests = new Map(statements.map((each) => [each, [...each.querySelectorAll("[data-status]")]]));
  const words = new Map(
    statements.map((each) => [each, each.textContent.toLowerCase().replace(/\s+/g, " ")]),
  );
  const fields = [...form.elements].filter((field) => field.name);

  function show() {
    const asked = Object.fromEntries(fields.map((field) => [field.name, field.value]));
    // A place is one word: `figure 3` is not every figure with a 3 somewhere.
    const place = /(?:figures?|table|section|theorem|lemma|appendix|footnote) \S+|\S+/g;
    const wanted = asked.q.toLowerCase().replace(/\s+/g, " ").match(place) ?? [];
    let shown = 0;
    for (const each of statements) {
      const having = tests.get(each).filter((test) => !asked.status || test.dataset.status === asked.status);
      const fits = having.length > 0 && (!asked.paper || each.dataset.paper === asked.paper)
        && wanted.every((word) => words.get(each).includes(word));
      each.hidden = !fits;
      each.open = fits && (asked.status !== "" || wanted.length > 0);
      for (const test of tests.get(each)) test.hidden = !having.includes(test);
      shown += fits;
    }
    count.textContent = `${shown} of ${statements.length} statements`;
    none.hidden = shown > 0;
  }

  function remember() {
    const changed = fields.filter((field) => field.value);
    const text = new URLSearchParams(changed.map((field) => [field.name, field.value])).toString();
    history.replaceState(null, "", text ? `#${text}` : "#statements");
  }

  function recall() {
    const query = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
      field.value = query.get(field.name) ?? "";
      if (field.selectedIndex === -1) field.value = "";
    }
    show();
  }

  function clear() {
    for (const field of fields) field.value = "";
    show();
    remember();
  }

  form.addEventListener("input", () => { show(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); clear(); });
  document.getElementById("all").addEventListener("click", () => { clear(); fields[0].focus(); });
  addEventListener("hashchange", recall);
  form.hidden = false;
  recall();
})();
