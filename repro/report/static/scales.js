// Axes: from numbers to pixels, linear or logarithmic, with ticks that people would choose.
"use strict";
const scales = (() => {
  const short = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3) {
      return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−").replace("e-", "e−");
    }
    return String(Number(value.toPrecision(4))).replace("-", "−");
  };

  const raised = (exponent) => [...String(exponent)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
  const power = (value) => {
    const exponent = Math.log2(value);
    return Number.isInteger(exponent) && value > 0 && (value < 1 || value > 4096) ? `2${raised(exponent)}` : short(value);
  };

  function steps(low, high, wanted) {
    const raw = (high - low) / wanted || 1;
    const unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((factor) => factor * unit >= raw * 0.999) * unit;
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
    return ticks;
  }

  function linear(low, high, from, to, values = [0.5]) {
    const span = high - low || Math.abs(high) || 1;
    const [bottom, top] = [low - 0.04 * span, high + 0.04 * span];
    const place = (value) => from + ((value - bottom) / (top - bottom)) * (to - from);
    const whole = values.every(Number.isInteger);
    const inside = (tick) => tick >= bottom && tick <= top && (!whole || Number.isInteger(tick));
    return { place, ticks: (wanted) => steps(bottom, top, wanted).filter(inside), text: short };
  }

  function logarithmic(low, high, from, to, values) {
    const inner = linear(Math.log2(low), Math.log2(high), from, to);
    const doubling = values.length <= 24 && values.every((value) => Number.isInteger(Math.log2(value)));
    function ticks(wanted) {
      if (doubling) {
        const every = Math.ceil(values.length / wanted);
        return values.toSorted((a, b) => a - b).filter((_, i) => i % every === 0);
      }
      const found = [];
      const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
      const every = Math.max(1, Math.ceil((last - first) / wanted));
      const factors = last - first <= 2 ? [1, 2, 5] : [1];
      for (let e = first; e <= last; e += every) for (const f of factors) found.push(f * 10 ** e);
      const inside = found.filter((t) => t >= low * 0.97 && t <= high * 1.03);
      return inside.length > 1 ? inside : [low, high];
    }
    return { place: (value) => inner.place(Math.log2(value)), ticks, text: doubling ? power : short };
  }

  return { linear, logarithmic, short, power };
})();
