(() => {
  "use strict";
  const tree = document.getElementById("tree");
  const rows = [...tree.tBodies[0].rows];
  const byLine = new Map(rows.map((row) => [row.id, row]));
  const parent = (row) => byLine.get("line-" + row.dataset.parent);
  const shown = (row) => !row.hidden;
  const open = (row) => row.getAttribute("aria-expanded") === "true";

  /* Rows below a folded one are hidden; parents come before their children. */
  const update = () => {
    for (const row of rows) {
      const above = parent(row);
      row.hidden = above !== undefined && (above.hidden || !open(above));
    }
  };
  const fold = (row, expanded) => {
    if (row.hasAttribute("aria-expanded")) row.setAttribute("aria-expanded", String(expanded));
  };
  const focus = (row) => {
    if (!row) return;
    for (const other of rows) other.tabIndex = other === row ? 0 : -1;
    row.focus();
  };
  const visible = () => rows.filter(shown);
  const reveal = (row) => {
    for (let above = parent(row); above; above = parent(above)) fold(above, true);
    update();
  };

  const keys = {
    ArrowDown: (row) => focus(visible()[visible().indexOf(row) + 1]),
    ArrowUp: (row) => focus(visible()[visible().indexOf(row) - 1]),
    Home: () => focus(visible()[0]),
    End: () => focus(visible().at(-1)),
    ArrowRight: (row) => {
      if (!row.hasAttribute("aria-expanded")) return;
      if (open(row)) return keys.ArrowDown(row);
      fold(row, true);
      update();
    },
    ArrowLeft: (row) => {
      if (!open(row)) return focus(parent(row));
      fold(row, false);
      update();
    },
    Enter: (row) => { fold(row, !open(row)); update(); },
    " ": (row) => { fold(row, !open(row)); update(); },
    "*": (row) => {
      for (const other of rows) if (other.dataset.parent === row.dataset.parent) fold(other, true);
      update();
    },
  };
  tree.addEventListener("keydown", (event) => {
    const row = event.target;
    if (!rows.includes(row) || event.ctrlKey || event.altKey || event.metaKey) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act(row);
  });
  tree.addEventListener("click", (event) => {
    const row = event.target.closest("tbody tr");
    if (!row || event.target.closest("a")) return;
    if (event.target.closest(".twist")) { fold(row, !open(row)); update(); }
    focus(row);
  });

  for (const button of document.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => {
      for (const row of rows) {
        fold(row, button.dataset.fold === "none" || (button.dataset.fold === "cheap" && !("cheap" in row.dataset)));
      }
      update();
      focus(rows[0]);
      button.focus();
    });
  }
  const details = [...document.querySelectorAll("details")];
  for (const button of document.querySelectorAll("[data-details]")) {
    button.addEventListener("click", () => {
      for (const each of details) if (each.matches(".decision")) each.open = button.dataset.details === "open";
    });
  }
  /* A link to a line that is folded away, or to a decision, unfolds it. */
  const follow = () => {
    const wanted = document.getElementById(location.hash.slice(1));
    if (!wanted) return;
    if (wanted.matches("details")) wanted.open = true;
    if (rows.includes(wanted)) { reveal(wanted); focus(wanted); }
    wanted.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", follow);

  /* On paper everything is unfolded, also where the style sheet cannot do it. */
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = details.filter((each) => !each.open);
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of closed) each.open = false;
    closed = [];
  });

  for (const each of document.querySelectorAll(".buttons")) each.hidden = false;
  for (const row of rows) if ("cheap" in row.dataset) fold(row, false);
  update();
  follow();
})();
