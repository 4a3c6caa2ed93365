// A record of entries in this browser's storage, under one key: { "part/lesson/id": entry }.

import { recall, remember } from "./storage.js";

// `clean` returns the expected form of a stored entry, or undefined if it has another form: a file that was imported or an
// earlier version may have written it.
export function recordStore(key, clean) {
  function valid(stored) {
    if (typeof stored !== "object" || stored === null) return {};
    return Object.fromEntries(
      Object.entries(stored)
        .filter(([address]) => /^[a-z0-9-]+\/[a-z0-9-]+\/[a-z0-9-]+$/.test(address))
        .map(([address, entry]) => [address, clean(entry)])
        .filter(([, entry]) => entry !== undefined),
    );
  }
  function all() {
    try {
      return valid(JSON.parse(recall(key) ?? "{}"));
    } catch {
      return {};
    }
  }
  const replace = (entries) => remember(key, JSON.stringify(entries));
  // Stores or, without an entry, removes one. Reads again each time, because another tab may have changed another entry.
  function set(address, entry) {
    const entries = all();
    if (entry === undefined) delete entries[address];
    else entries[address] = entry;
    replace(entries);
  }
  return { all, replace, set, valid };
}
