// Filters the list of rules: shows those that contain every word of the query.

export function ruleFilter() {
  const input = document.querySelector("[data-rule-filter]");
  if (!input) return;
  const count = document.querySelector("[data-rule-count]");
  const sections = [...document.querySelectorAll("section[data-rules]")].map((section) => ({
    section,
    rows: [...section.querySelectorAll("tbody tr")].map((row) => ({ row, text: row.textContent.toLowerCase() })),
  }));
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { section, rows } of sections) {
      let here = 0;
      for (const { row, text } of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        here += row.hidden ? 0 : 1;
      }
      section.hidden = here === 0;
      shown += here;
    }
    const all = sections.reduce((sum, { rows }) => sum + rows.length, 0);
    count.textContent = words.length > 0 ? `${shown} of ${all} rules` : "";
  };
  input.addEventListener("input", filter);
  // A browser may restore the query after a reload.
  filter();
}
