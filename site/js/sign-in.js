// The link to the sign-in in the header. Pages are the same for all readers, so the script finds out who this one is.

export async function showUser(link) {
  const response = await fetch(`${link.href}/user`, { cache: "no-store" });
  if (!response.ok) return;
  const { user, by } = await response.json();
  if (by === "session") {
    link.textContent = "Sign out";
    link.title = `You are ${user}.`;
    link.href = link.href.replace(/sign-in$/, "sign-out");
  } else if (by === "token") {
    link.hidden = true;
  } else {
    // After the sign-in, the browser comes back to this page.
    const here = location.pathname + location.search;
    link.href = `${link.href}?return=${encodeURIComponent(here)}`;
  }
}
