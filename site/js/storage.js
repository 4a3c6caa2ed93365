// Values stored in this browser. Blocked or full storage is normal and not an error.

const prefix = "hipward.";

export function recall(key) {
  try {
    return localStorage.getItem(prefix + key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(prefix + key, value);
  } catch {
    // The page works without.
  }
}

export function forget(key) {
  try {
    localStorage.removeItem(prefix + key);
  } catch {
    // Nothing was stored.
  }
}
