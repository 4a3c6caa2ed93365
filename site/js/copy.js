// Copy buttons: of a code block, and of the page's address.

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function copyButtons() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy], [data-copy-address]");
    if (!button) return;
    const text = button.matches("[data-copy-address]")
      ? // The fragment of most pages is a heading.
        button.dataset.copyAddress === "whole" ? location.href : location.href.split("#")[0]
      : button.closest("figure").querySelector("code").textContent;
    const label = button.dataset.label ?? button.textContent;
    button.dataset.label = label;
    button.textContent = (await copyText(text)) ? "Copied" : "Not allowed";
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}
