"use strict";
// A click on a heading sorts by its column: first up, then down; what has no value stays at the end.
const arranged = new Map();
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.cells[column];
      return cell.dataset.sort === undefined ? cell.textContent.trim() : cell.dataset.sort;
    };
    const number = (text) => Number(text.replace("−", "-").replace(/[<>,%\s]/g, ""));
    const rows = [...table.tBodies[0].rows].map((row) => {
      const text = value(row) === "–" ? "" : value(row);
      return { row, text, number: number(text) };
    });
    const numeric = rows.every(({ text, number }) => text === "" || !Number.isNaN(number));
    rows.sort((a, b) => {
      if ((a.text === "") !== (b.text === "")) return a.text === "" ? 1 : -1;
      const order = numeric ? a.number - b.number : a.text.localeCompare(b.text);
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows.map(({ row }) => row));
    arranged.get(table)?.();
  }));
}
// Long tables show their first rows, all of them on demand, or those that a search finds.
const FIRST = 20;
for (const tools of document.querySelectorAll(".tools")) {
  const table = tools.nextElementSibling.querySelector("table");
  const [search, all, said] = ["input", "button", "output"].map((name) => tools.querySelector(name));
  const arrange = () => {
    const words = search.value.trim().toLowerCase();
    const whole = all.getAttribute("aria-pressed") === "true";
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = words ? !row.textContent.toLowerCase().includes(words) : !whole && shown >= FIRST;
      shown += row.hidden ? 0 : 1;
    }
    all.hidden = words !== "";
    said.textContent = words || !whole ? `${shown} of ${table.tBodies[0].rows.length} shown` : "";
  };
  search.addEventListener("input", arrange);
  all.addEventListener("click", () => {
    const whole = all.getAttribute("aria-pressed") !== "true";
    all.setAttribute("aria-pressed", String(whole));
    arrange();
  });
  arranged.set(table, arrange);
  tools.hidden = false;
  arrange();
}
