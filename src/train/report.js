"use strict";
// What answers to the reader: values under the pointer, curves to hide, a logarithmic scale, tables to sort.
// Without it the page shows the same, as the program has drawn it.
(() => {
  const HEIGHT = 280, LEFT = 56, RIGHT = 14, TOP = 10, BOTTOM = 40;
  const data = JSON.parse(document.getElementById("report-data").textContent);

  function element(name, attributes, text) {
    const made = document.createElementNS(document.querySelector("svg").namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function number(value) {
    if (value === null) return "not finite";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
    return String(Number(value.toPrecision(5)));
  }

  // Round numbers from low to high, about so many.
  function ticks(low, high, count) {
    const rough = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) || 10);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step && found.length < 100; ++i) found.push(i * step);
    return found;
  }

  function powersOfTen(low, high) {
    const found = [];
    for (let i = Math.ceil(low - 1e-9); i <= high + 1e-9; ++i) found.push(i);
    if (found.length >= 2) return found;
    return ticks(10 ** low, 10 ** high, 4).filter((value) => value > 0).map(Math.log10);
  }

  function interval(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low > high) return [0, 1];
    if (low < high) return [low, high];
    const room = low === 0 ? 1 : Math.abs(low) / 10;
    return [low - room, high + room];
  }

  // The place in a sorted list that is nearest to a number.
  function nearest(list, value) {
    let first = 0, last = list.length - 1;
    while (last - first > 1) {
      const middle = (first + last) >> 1;
      if (list[middle] < value) first = middle; else last = middle;
    }
    return Math.abs(list[first] - value) <= Math.abs(list[last] - value) ? first : last;
  }

  class Chart {
    constructor(figure, chart) {
      this.svg = figure.querySelector("svg");
      this.series = chart.series.map((each) => ({ ...each, shown: true }));
      this.isLog = false;
      this.at = null;  // the step that is read
      this.addKeys(figure.querySelector(".keys"));
      this.reading = document.createElement("output");
      this.reading.className = "reading";
      figure.append(this.reading);
      this.svg.setAttribute("tabindex", "0");
      this.svg.addEventListener("pointermove", (event) => this.point(event));
      this.svg.addEventListener("pointerdown", (event) => this.point(event));
      this.svg.addEventListener("pointerleave", () => this.read(null));
      this.svg.addEventListener("blur", () => this.read(null));
      this.svg.addEventListener("keydown", (event) => this.move(event));
      new ResizeObserver(() => this.draw()).observe(this.svg);
      this.draw();
    }

    addKeys(keys) {
      keys.querySelectorAll(".key").forEach((old, i) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = old.className;
        button.textContent = old.textContent;
        button.setAttribute("aria-pressed", "true");
        button.addEventListener("click", () => {
          this.series[i].shown = !this.series[i].shown;
          button.setAttribute("aria-pressed", String(this.series[i].shown));
          this.draw();
        });
        old.replaceWith(button);
      });
      if (!this.series.every((each) => each.y.every((value) => value === null || value > 0))) return;
      const label = document.createElement("label");
      label.className = "log";
      const box = document.createElement("input");
      box.type = "checkbox";
      box.addEventListener("change", () => {
        this.isLog = box.checked;
        this.draw();
      });
      label.append(box, "log scale");
      keys.append(label);
    }

    get shown() { return this.series.filter((each) => each.shown && each.x.length); }
    scaled(value) { return value === null ? NaN : this.isLog ? Math.log10(value) : value; }
    left(x) { return LEFT + (x - this.xs[0]) / (this.xs[1] - this.xs[0]) * (this.width - LEFT - RIGHT); }
    top(y) { return HEIGHT - BOTTOM - (this.scaled(y) - this.ys[0]) / (this.ys[1] - this.ys[0]) * (HEIGHT - TOP - BOTTOM); }

    draw() {
      this.width = Math.max(this.svg.clientWidth, 240);
      this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
      this.xs = interval(this.series.flatMap((each) => each.x));
      this.ys = interval(this.shown.flatMap((each) => each.y.map((value) => this.scaled(value))));
      this.svg.replaceChildren(...this.axes(), ...this.shown.map((each) => this.line(each)));
      this.cursor = element("g", {});
      this.svg.append(this.cursor);
      this.read(this.at);
    }

    *axes() {
      const right = this.width - RIGHT, bottom = HEIGHT - BOTTOM;
      const heights = this.isLog ? powersOfTen(...this.ys) : ticks(...this.ys, 5);
      for (const height of heights) {
        const y = bottom - (height - this.ys[0]) / (this.ys[1] - this.ys[0]) * (bottom - TOP);
        yield element("path", { class: "grid", d: `M${LEFT},${y.toFixed(1)}H${right}` });
        const value = this.isLog ? 10 ** height : height;
        yield element("text", { x: LEFT - 8, y: (y + 4).toFixed(1), "text-anchor": "end" }, number(Number(value.toPrecision(6))));
      }
      for (const value of ticks(...this.xs, Math.max(2, Math.floor(this.width / 90)))) {
        if (Math.round(value) !== value) continue;
        yield element("text", { x: this.left(value).toFixed(1), y: bottom + 18, "text-anchor": "middle" }, String(value));
      }
      yield element("path", { class: "axis", d: `M${LEFT},${bottom}H${right}` });
      yield element("text", { class: "name", x: (LEFT + right) / 2, y: HEIGHT - 5, "text-anchor": "middle" }, "steps");
    }

    line(series) {
      const group = element("g", { class: `line ${series.kind}` });
      let path = "", isDown = false;
      const hasDots = series.kind !== "steps" && series.x.length <= 60;
      series.x.forEach((step, i) => {
        const x = this.left(step).toFixed(1), y = this.top(series.y[i]).toFixed(1);
        if (!Number.isFinite(Number(y))) {
          isDown = false;
          return;
        }
        path += `${isDown ? "L" : "M"}${x},${y}`;
        isDown = true;
        if (hasDots) group.append(element("circle", { cx: x, cy: y, r: 3 }));
      });
      group.prepend(element("path", { d: path }));
      return group;
    }

    point(event) {
      const box = this.svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * this.width;
      this.read(this.xs[0] + (x - LEFT) / (this.width - LEFT - RIGHT) * (this.xs[1] - this.xs[0]));
    }

    // Arrow keys go from point to point of the first curve.
    move(event) {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by || !this.shown.length) return;
      event.preventDefault();
      const steps = this.shown[0].x;
      const place = this.at === null ? (by > 0 ? 0 : steps.length - 1) : nearest(steps, this.at) + by;
      this.read(steps[Math.min(Math.max(place, 0), steps.length - 1)]);
    }

    // Shows the values of all curves where they are nearest to a step.
    read(step) {
      this.at = step;
      this.cursor.replaceChildren();
      this.reading.replaceChildren();
      if (step === null || !this.shown.length) {
        this.reading.append("Point at the chart to read its values.");
        return;
      }
      const near = this.shown.map((each) => ({ each, i: nearest(each.x, step) }));
      const at = near.map(({ each, i }) => each.x[i]).reduce((a, b) => Math.abs(b - step) < Math.abs(a - step) ? b : a);
      const x = this.left(at).toFixed(1);
      this.cursor.append(element("path", { class: "cursor", d: `M${x},${TOP}V${HEIGHT - BOTTOM}` }));
      this.reading.append(`step ${Math.round(at)}`);
      for (const { each, i } of near) {
        const bold = document.createElement("b");
        bold.textContent = number(each.y[i]);
        const away = Math.round(each.x[i]) === Math.round(at) ? "" : ` (step ${Math.round(each.x[i])})`;
        this.reading.append(` \u00b7 ${each.name}${away} `, bold);
        const y = this.top(each.y[i]);
        if (!Number.isFinite(y)) continue;
        const group = element("g", { class: `line ${each.kind}` });
        group.append(element("circle", { cx: this.left(each.x[i]).toFixed(1), cy: y.toFixed(1), r: 4 }));
        this.cursor.append(group);
      }
    }
  }

  // Numbers as numbers, empty cells last.
  function sortKey(cell) {
    const text = cell.dataset.value ?? cell.textContent.trim();
    const value = text === "" ? NaN : Number(text.replace(/[ %]+$/, ""));
    return { text, value };
  }

  function makeSortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isUp = head.getAttribute("aria-sort") === "descending";
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => ({ row, key: sortKey(row.cells[column]) }));
        const areNumbers = rows.every(({ key }) => key.text === "" || !Number.isNaN(key.value));
        rows.sort((a, b) => {
          if (a.key.text === "" || b.key.text === "") return (a.key.text === "") - (b.key.text === "");
          const order = areNumbers ? a.key.value - b.key.value : a.key.text.localeCompare(b.key.text);
          return isUp ? order : -order;
        });
        body.append(...rows.map(({ row }) => row));
      });
    });
  }

  data.charts.forEach((chart, i) => new Chart(document.getElementById(`chart-${i}`), chart));
  document.querySelectorAll("table.sortable").forEach(makeSortable);
})();
