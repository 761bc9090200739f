/** Returns a function that remembers the result of get for some milliseconds. */
export function cached(get, milliseconds) {
  let entry;
  return () => {
    if (!entry) {
      entry = { value: get() };
      setTimeout(() => {
        entry = undefined;
      }, milliseconds).unref?.();
    }
    return entry.value;
  };
}
