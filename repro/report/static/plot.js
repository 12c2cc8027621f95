// A figure's data: any measured column over any setting, a line for each value of the others.
// Means are over seeds and nothing else; their range is the band. What is asked of it is kept in the
// address: `up`, `along`, `above=lowest`, `table=open`, and each setting by its column's name, where
// `*` is a line for each value.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("plot-data").textContent);
  const box = document.getElementById("plot");
  const columns = data.columns;
  const count = columns[data.y].length;
  const narrow = matchMedia("(max-width: 40rem)");
  let [width, height] = [760, 400];
  const margin = { left: 62, right: 14, top: 14, bottom: 44 };
  const MARKS = ["circle", "square", "triangle", "diamond"];
  const switchedOff = new Set();
  const NAMES = { lr: "learning rate", train_loss: "training loss", valid_loss: "validation loss" };
  const named = (name) => NAMES[name]
    ?? name.replace(/^lr\.(.*)$/, "$1 learning rate").replace(/^(model|data|optimizer)\./, "").replace(/[_.]/g, " ");

  const element = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const shape = (name, attributes = {}, text = "") => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    return node;
  };
  const distinct = (name) => {
    const values = [...new Set(columns[name])];
    const numbers = values.every((value) => value === null || typeof value === "number");
    return numbers ? values.sort((a, b) => (a ?? -Infinity) - (b ?? -Infinity)) : values;
  };
  const said = (value) => {
    if (value === null) return "none";
    return typeof value === "number" ? scales.power(value) : value.replace(/^.*\//, "").replace(/_/g, " ");
  };

  // Controls
  const selects = {};
  const controls = element("div", { class: "controls" });
  function select(key, label, options, value) {
    const field = element("select", { name: key });
    options.forEach(([text, content], i) => {
      const option = element("option", { value: i }, text);
      option.content = content;
      option.selected = content === value;
      field.append(option);
    });
    field.addEventListener("change", () => { if (key === "x") others(); draw(); remember(); });
    selects[key] = field;
    return element("label", {}, `${label} `, field);
  }
  const content = (key) => selects[key].selectedOptions[0]?.content;
  const numeric = data.settings.filter((name) => distinct(name).every((v) => v === null || typeof v === "number"));
  const EVERY = Symbol("a line each");
  const SHOWN = Symbol("the figure's, a line each");
  const LAST = "each run's last"; // step
  const filters = element("span", { class: "controls" });

  const filtered = () => data.settings.filter((name) => selects[`=${name}`]);
  const standard = (name) => {
    if (name in data.chosen) return data.chosen[name];
    return name in data.lines ? SHOWN : EVERY;
  };

  function others() {
    const x = content("x");
    const kept = Object.fromEntries(filtered().map((name) => [name, content(`=${name}`)]));
    filters.replaceChildren();
    for (const name of data.settings) {
      delete selects[`=${name}`];
      if (name === x) continue;
      const values = distinct(name);
      const first = name in kept ? kept[name] : standard(name);
      const options = [["a line each", EVERY], ...values.map((value) => [said(value), value])];
      if (name in data.lines) options.unshift(["the figure's, a line each", SHOWN]);
      if (name === "step") options.unshift([LAST, LAST]);
      filters.append(select(`=${name}`, named(name), options, first));
    }
  }
  controls.append(
    select("y", "up", data.measured.map((name) => [named(name), name]), data.y),
    select("x", "along", numeric.map((name) => [named(name), name]), data.x),
  );
  others();
  const relative = element("input", { type: "checkbox" });
  relative.addEventListener("change", () => { draw(); remember(); });
  controls.append(filters, element("label", {}, relative, " above each line's lowest"));

  // Lines: name -> points of {x, seeds: Map(seed -> value), mean, low, high, diverged}
  function lines() {
    const [x, y] = [columns[content("x")], columns[content("y")]];
    const split = data.settings.filter((name) => name !== content("x"));
    const fixed = split.filter((name) => ![EVERY, SHOWN, LAST].includes(content(`=${name}`)));
    const each = split.filter((name) => [EVERY, SHOWN].includes(content(`=${name}`)));
    const some = each.filter((name) => content(`=${name}`) === SHOWN);
    const rows = [];
    for (let i = 0; i < count; i++) {
      if (x[i] === null || y[i] === null) continue;
      const asked = fixed.every((name) => columns[name][i] === content(`=${name}`))
        && some.every((name) => data.lines[name].includes(columns[name][i]));
      if (asked) rows.push(i);
    }
    const found = new Map();
    for (const i of split.includes("step") && content("=step") === LAST ? lastOf(rows) : rows) {
      const parts = each.map((name) => columns[name][i]);
      const key = JSON.stringify(parts);
      if (!found.has(key)) found.set(key, { parts, points: new Map() });
      const points = found.get(key).points;
      if (!points.has(x[i])) points.set(x[i], []);
      points.get(x[i]).push([columns.seed ? columns.seed[i] : null, y[i]]);
    }
    const order = (a, b) => {
      for (let i = 0; i < each.length; i++) {
        const [first, second] = [a.parts[i], b.parts[i]];
        if (first === second) continue;
        if (typeof first === "number" && typeof second === "number") return first - second;
        return String(first ?? "") < String(second ?? "") ? -1 : 1;
      }
      return 0;
    };
    const sorted = [...found.values()].sort(order);
    const names = namesOf(sorted, each);
    return sorted.map((line, i) => {
      const points = [...line.points].sort((a, b) => a[0] - b[0]).map(([at, values]) => {
        const finite = values.map(([, value]) => value).filter((value) => value !== "inf");
        const diverged = finite.length < values.length;
        const mean = diverged ? null : finite.reduce((a, b) => a + b, 0) / finite.length;
        return { x: at, values, mean, low: Math.min(...finite), high: Math.max(...finite), diverged };
      });
      if (relative.checked) {
        const best = Math.min(...points.filter((p) => p.mean !== null).map((p) => p.mean));
        for (const point of points) {
          if (point.mean === null) continue;
          for (const key of ["mean", "low", "high"]) point[key] -= best;
        }
      }
      return { name: names[i], key: JSON.stringify([each, line.parts]), index: i, points };
    });
  }

  // Of the rows of every run, that of its last evaluation.
  function lastOf(rows) {
    const last = new Map();
    for (const i of rows) {
      const run = JSON.stringify([...data.settings.filter((name) => name !== "step"), "seed"].map((name) => columns[name]?.[i]));
      if (!last.has(run) || columns.step[last.get(run)] < columns.step[i]) last.set(run, i);
    }
    return last.values();
  }

  // A line is called by its texts, and by as many of its numbers as it takes to tell lines apart.
  function namesOf(sorted, each) {
    const kept = each.map((name, k) => sorted.some((line) => typeof line.parts[k] === "string"));
    const name = (line) => each.map((key, k) => {
      if (!kept[k] || line.parts[k] === null) return "";
      return typeof line.parts[k] === "number" ? `${named(key)} ${said(line.parts[k])}` : said(line.parts[k]);
    }).filter(Boolean).join(", ") || "all runs";
    for (let k = 0; k < each.length; k++) {
      const names = sorted.map(name);
      if (new Set(names).size === names.length) break;
      if (kept[k]) continue;
      kept[k] = true;
      if (new Set(sorted.map(name)).size === new Set(names).size) kept[k] = false;
    }
    return sorted.map(name);
  }

  const isShown = (line) => !switchedOff.has(line.key);

  // Picture
  const svg = shape("svg", { tabindex: 0, role: "group", "aria-roledescription": "plot" });
  const legend = element("div", { class: "legend" });
  const note = element("p", { class: "tip", role: "status" });
  const table = element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Plotted values" });
  const values = element("details", {}, element("summary", {}, "Plotted values as a table"), table);
  let points = [];
  let at = -1;

  function mark(kind, x, y, r = 3.6) {
    const d = {
      circle: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
      square: `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
      triangle: `M${x} ${y - r * 1.2}l${r * 1.2} ${r * 2.1}h${-2.4 * r}z`,
      diamond: `M${x} ${y - r * 1.3}l${r * 1.3} ${r * 1.3}l${-r * 1.3} ${r * 1.3}l${-r * 1.3} ${-r * 1.3}z`,
    };
    return d[kind];
  }
  function axis(values, from, to, linear = false) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const wide = !linear && low > 0 && high / low >= 16;
    return wide ? scales.logarithmic(low, high, from, to, [...new Set(values)]) : scales.linear(low, high, from, to, values);
  }

  function draw() {
    const all = lines();
    const shown = all.filter(isShown);
    const drawn = (shown.length ? shown : all).flatMap((line) => line.points);
    const ys = drawn.filter((p) => p.mean !== null).flatMap((p) => [p.low, p.high]);
    [width, height] = narrow.matches ? [400, 320] : [760, 400];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    points = [];
    at = -1;
    const label = `${named(content("y"))} over ${named(content("x"))}, ${all.length} line${all.length === 1 ? "" : "s"}`;
    svg.setAttribute("aria-label", `${label}; arrow keys go from point to point`);
    if (!ys.length) {
      svg.append(shape("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing finite to show"));
      return;
    }
    const x = axis(drawn.map((p) => p.x), margin.left, width - margin.right, content("x") === "step");
    const y = axis(ys, height - margin.bottom, margin.top);
    for (const tick of y.ticks(6)) {
      svg.append(shape("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y.place(tick), y2: y.place(tick) }));
      svg.append(shape("text", { class: "tick", x: margin.left - 8, y: y.place(tick) + 4, "text-anchor": "end" }, y.text(tick)));
    }
    for (const tick of x.ticks(narrow.matches ? 4 : 9)) {
      svg.append(shape("line", { class: "grid", x1: x.place(tick), x2: x.place(tick), y1: margin.top, y2: height - margin.bottom }));
      svg.append(shape("text", { class: "tick", x: x.place(tick), y: height - margin.bottom + 18, "text-anchor": "middle" }, x.text(tick)));
    }
    svg.append(shape("text", { class: "name", x: (margin.left + width - margin.right) / 2, y: height - 6, "text-anchor": "middle" }, named(content("x"))));
    svg.append(shape("text", { class: "name", transform: `translate(14 ${(height - margin.bottom + margin.top) / 2}) rotate(-90)`, "text-anchor": "middle" }, named(content("y")) + (relative.checked ? " above the lowest" : "")));
    for (const line of shown) {
      const color = `c${line.index % 8}`;
      const finite = line.points.filter((p) => p.mean !== null);
      const across = (key) => finite.map((p) => `${x.place(p.x).toFixed(1)} ${y.place(p[key]).toFixed(1)}`);
      if (finite.length > 1) {
        const band = `M${across("low").join("L")}L${across("high").reverse().join("L")}Z`;
        svg.append(shape("path", { class: `band ${color}`, d: band }));
        const dash = line.index >= 8 ? { "stroke-dasharray": "6 3" } : {};
        svg.append(shape("path", { class: `line ${color}`, d: `M${across("mean").join("L")}`, ...dash }));
      }
      const kind = MARKS[line.index % MARKS.length];
      for (const p of line.points) {
        const [px, py] = [x.place(p.x), p.mean === null ? margin.top + 4 : y.place(p.mean)];
        if (p.mean === null) {
          svg.append(shape("path", { class: `lost ${color}`, d: `M${px - 4} ${py - 4}l8 8m0 -8l-8 8` }));
        } else if (line.points.length <= 60) {
          svg.append(shape("path", { class: `dot ${color}`, d: mark(kind, px, py) }));
        }
        points.push({ ...p, px, py, line, y });
      }
    }
    svg.append(shape("circle", { class: "ring", r: 8, visibility: "hidden" }));
    legendOf(all);
    tableOf(shown);
    tell();
  }

  function legendOf(all) {
    const old = document.activeElement?.dataset?.line;
    legend.replaceChildren(...all.map((line) => {
      const key = shape("svg", { viewBox: "0 0 22 12", width: 22, height: 12, "aria-hidden": "true" });
      const dash = line.index >= 8 ? { "stroke-dasharray": "6 3" } : {};
      key.append(shape("path", { class: `line c${line.index % 8}`, d: "M0 6h22", ...dash }));
      key.append(shape("path", { class: `dot c${line.index % 8}`, d: mark(MARKS[line.index % MARKS.length], 11, 6) }));
      const button = element("button", { type: "button", "aria-pressed": String(isShown(line)), "data-line": line.key }, key, ` ${line.name}`);
      button.addEventListener("click", () => {
        if (!switchedOff.delete(line.key)) switchedOff.add(line.key);
        draw();
      });
      return button;
    }));
    if (old) [...legend.children].find((button) => button.dataset.line === old)?.focus();
  }

  function tableOf(shown) {
    const head = element("tr", {}, ...["line", named(content("x")), "mean", "lowest", "highest", "each run"].map((text) => element("th", { scope: "col" }, text)));
    const body = shown.flatMap((line) => line.points.map((p) => element("tr", {}, ...[
      line.name, said(p.x), p.mean === null ? "diverged" : scales.short(p.mean),
      p.mean === null ? "" : scales.short(p.low), p.mean === null ? "" : scales.short(p.high), eachRun(p.values),
    ].map((text) => element("td", {}, text)))));
    table.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...body.slice(0, 2000))));
  }

  const eachRun = (found) => found.map(([seed, value]) => {
    const text = value === "inf" ? "diverged" : scales.short(value);
    return seed === null ? text : `seed ${seed}: ${text}`;
  }).join(", ");

  function tell() {
    const ring = svg.querySelector(".ring");
    if (at < 0 || at >= points.length) {
      ring?.setAttribute("visibility", "hidden");
      note.textContent = "Point at the plot for its values.";
      return;
    }
    const p = points[at];
    ring.setAttribute("visibility", "visible");
    ring.setAttribute("cx", p.px);
    ring.setAttribute("cy", p.py);
    const mean = p.mean === null ? "diverged" : scales.short(p.mean);
    const runs = columns.seed || p.values.length > 1 ? ` (${eachRun(p.values.slice(0, 12))}${p.values.length > 12 ? ", …" : ""})` : "";
    note.textContent = `${p.line.name}, ${named(content("x"))} ${said(p.x)}: ${mean}${runs}`;
  }

  function nearest(event) {
    const area = svg.getBoundingClientRect();
    const [x, y] = [(event.clientX - area.left) * (width / area.width), (event.clientY - area.top) * (height / area.height)];
    let best = 40 ** 2;
    at = -1;
    points.forEach((p, i) => {
      const far = (p.px - x) ** 2 + (p.py - y) ** 2;
      if (far < best) [best, at] = [far, i];
    });
    tell();
  }
  svg.addEventListener("pointermove", nearest);
  svg.addEventListener("pointerdown", nearest);
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const lineBy = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!points.length || (!by && !lineBy)) return;
    event.preventDefault();
    if (at < 0) {
      at = 0;
    } else if (by) {
      at = (at + by + points.length) % points.length;
    } else {
      const order = [...new Set(points.map((p) => p.line))];
      const next = order[(order.indexOf(points[at].line) + lineBy + order.length) % order.length];
      const there = points.map((p, i) => [Math.abs(p.px - points[at].px), i]).filter(([, i]) => points[i].line === next);
      at = there.reduce((a, b) => (b[0] < a[0] ? b : a))[1];
    }
    tell();
  });

  // The address has what is asked otherwise than at first.
  const isOwn = (name) => !name.startsWith("rows");
  const written = (value) => (value === EVERY ? "*" : String(value ?? ""));

  function remember() {
    const asked = {};
    const put = (name, key, first) => {
      if (content(key) !== first) asked[name] = written(content(key));
    };
    put("up", "y", data.y);
    put("along", "x", data.x);
    for (const name of filtered()) put(name, `=${name}`, standard(name));
    if (relative.checked) asked.above = "lowest";
    if (values.open) asked.table = "open";
    address.keep(isOwn, asked);
  }

  function recall() {
    const asked = address.asked();
    const choose = (name, key, first) => {
      const options = [...selects[key].options];
      const found = options.find((option) => written(option.content) === asked.get(name))
        ?? options.find((option) => option.content === first);
      selects[key].selectedIndex = found?.index ?? 0;
    };
    choose("up", "y", data.y);
    choose("along", "x", data.x);
    others();
    for (const name of filtered()) choose(name, `=${name}`, standard(name));
    relative.checked = asked.get("above") === "lowest";
    values.open = asked.get("table") === "open";
    draw();
  }

  box.append(controls, svg, note, legend, values);
  narrow.addEventListener("change", draw);
  values.addEventListener("toggle", remember);
  addEventListener("hashchange", () => { if (location.hash.includes("=")) recall(); });
  recall();
  if ([...address.asked().keys()].some(isOwn)) (values.open ? values : box).scrollIntoView();
})();
