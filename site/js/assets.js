// Addresses of the site's files: their names hold a hash, so the page lists them.

const addresses = JSON.parse(document.getElementById("hipward-assets").textContent);

export function hasAsset(name) {
  return name in addresses;
}

export function asset(name) {
  return new URL(addresses[name], document.baseURI).href;
}
