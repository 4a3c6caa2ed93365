// Filters the lists of jobs: shows those with the chosen state whose row contains every word of the query. The address stores both,
// so that a filtered list can be shared and reloaded.

export function jobFilter() {
  const form = document.querySelector("[data-job-filter]");
  if (!form) return;
  const query = form.querySelector("input");
  const state = form.querySelector("select");
  const count = form.querySelector("[role=status]");
  const filter = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...document.querySelectorAll("table.jobs tbody tr")];
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const inState = state.value === "" || row.querySelector(".badge").textContent === state.value;
      row.hidden = !(inState && words.every((word) => text.includes(word)));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown < rows.length ? `${shown} of ${rows.length} jobs` : "";
  };
  const fromAddress = new URLSearchParams(location.hash.slice(1));
  query.value = fromAddress.get("search") ?? "";
  state.value = fromAddress.get("state") ?? "";
  form.addEventListener("input", () => {
    const chosen = new URLSearchParams();
    if (query.value) chosen.set("search", query.value);
    if (state.value) chosen.set("state", state.value);
    history.replaceState(history.state, "", chosen.size > 0 ? `#${chosen}` : location.pathname);
    filter();
  });
  form.addEventListener("own-jobs", filter);
  filter();
}
