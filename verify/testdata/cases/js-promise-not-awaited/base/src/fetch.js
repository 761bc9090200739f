/** Calls get until it succeeds. */
export async function fetchAll(get) {
  for (let attempt = 1; attempt <= 100; attempt++) {
    try {
      return await get();
    } catch {
      // try again
    }
  }
}
